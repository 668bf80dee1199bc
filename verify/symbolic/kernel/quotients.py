"""Whether quotients of polynomials and exponentials are 0, in SymPy's sparse polynomials."""

from __future__ import annotations

from math import lcm, prod
from typing import TYPE_CHECKING, Any

from sympy import QQ, Add, Expr, Mul, Pow, exp, xring
from sympy.core.numbers import Exp1

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

Quotient = tuple[Any, Any]
"""Numerator and denominator, elements of a ring."""


def is_zero_quotient(expression: Any) -> bool:
    """Return whether an expression is 0 as a quotient of polynomials in all that is no rational number in it.

    Of exponentials these are the powers: exp(2a + b) is the square of exp(a) times exp(b). Where it returns
    False, other relations may still make it 0.
    """
    if not (isinstance(expression, Expr) and expression.is_commutative):
        return False
    parts: dict[Any, None] = {}
    rates: dict[Any, int] = {}
    _collect(expression, parts, rates)
    if not (parts or rates):
        return False
    try:
        top, below = _Reader(parts, rates).read(expression)
    except ZeroDivisionError:
        return False
    return bool(top == 0 and below != 0)


def _rates(exponential: Any) -> Iterator[tuple[Any, Any]]:
    """Yield what an exponent is a sum of: a rational number, and what it multiplies."""
    _, exponent = exponential.as_base_exp()
    for part in Add.make_args(exponent.expand()):
        yield part.as_coeff_Mul(rational=True)


def _collect(expression: Any, parts: dict[Any, None], rates: dict[Any, int]) -> None:
    """Gather the parts of a quotient, and by what to divide the rates of its exponentials."""
    if isinstance(expression, Add | Mul):
        for one in expression.args:
            _collect(one, parts, rates)
    elif isinstance(expression, Pow) and expression.exp.is_Integer:
        _collect(expression.base, parts, rates)
    elif isinstance(expression, exp | Exp1):
        for number, rest in _rates(expression):
            rates[rest] = lcm(rates.get(rest, 1), int(number.q))
    elif not expression.is_Rational:
        parts[expression] = None


class _Reader:
    """Reads expressions as quotients of the elements of a ring."""

    def __init__(self, parts: Collection[Any], rates: Mapping[Any, int]) -> None:
        self._ring, generators = xring([f"x{place}" for place in range(len(parts) + len(rates))], QQ)
        elements = iter(generators)
        self._known = {one: (next(elements), self._ring.one) for one in parts}
        self._rates = {rest: (next(elements), scale) for rest, scale in rates.items()}

    def read(self, expression: Any) -> Quotient:
        """Return an expression as a quotient.

        Raises:
            ZeroDivisionError: it divides by what is 0.
        """
        if expression in self._known:
            return self._known[expression]
        if isinstance(expression, Add):
            return self._added(expression.args)
        if isinstance(expression, Mul):
            return _product(self.read(one) for one in expression.args)
        if isinstance(expression, Pow):
            return _power(self.read(expression.base), int(expression.exp))
        if isinstance(expression, exp | Exp1):
            return _product(self._exponential(*one) for one in _rates(expression))
        return self._ring(QQ(expression.p, expression.q)), self._ring.one

    def _exponential(self, number: Any, rest: Any) -> Quotient:
        generator, scale = self._rates[rest]
        return _power((generator, self._ring.one), int(number * scale))

    def _added(self, terms: tuple[Any, ...]) -> Quotient:
        """Return a sum over the product of the different denominators."""
        over: dict[Any, Any] = {}
        for top, below in map(self.read, terms):
            over[below] = over.get(below, 0) + top
        different = list(over)
        apart = (prod((one for one in different if one != below), start=top) for below, top in over.items())
        return sum(apart, self._ring.zero), prod(different, start=self._ring.one)


def _product(factors: Iterable[Quotient]) -> Quotient:
    tops, belows = zip(*factors, strict=True)
    return prod(tops), prod(belows)


def _power(quotient: Quotient, power: int) -> Quotient:
    top, below = quotient
    if power >= 0:
        return top**power, below**power
    if top == 0:
        raise ZeroDivisionError
    return below**-power, top**-power
