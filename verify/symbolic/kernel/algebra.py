"""Whether an expression is identically zero: as a polynomial, a quotient, at a point, by canonical forms."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from math import lcm, prod
from typing import Any

from sympy import (
    QQ,
    Add,
    Derivative,
    Expr,
    Float,
    Function,
    Indexed,
    Integer,
    Limit,
    Mul,
    PolynomialError,
    Pow,
    Rational,
    S,
    cos,
    exp,
    expand,
    fraction,
    powsimp,
    prime,
    sin,
    sympify,
    together,
    xring,
)
from sympy.concrete.expr_with_limits import ExprWithLimits
from sympy.core.numbers import Exp1
from sympy.functions.elementary.hyperbolic import HyperbolicFunction
from sympy.functions.elementary.trigonometric import TrigonometricFunction
from sympy.matrices.expressions import MatrixSymbol

from verify.symbolic.kernel.hypotheses import parts_of

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
        top, below = _QuotientReader(parts, rates).read(expression)
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


class _QuotientReader:
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


_DIGITS, SURELY = 40, Float("1e-15")


@cache  # the denominators of one step are those of the next
def is_zero(expression: Any) -> bool:
    """Return whether SymPy finds ``expression`` identically zero."""
    if expression == S.Zero or _is_zero_polynomial(expression):
        return True
    if differs_somewhere(expression):
        return False
    if is_zero_quotient(expression) or expand(expression) == S.Zero:
        return True
    if expression.has(TrigonometricFunction, HyperbolicFunction) and vanishes_in_exponentials(expression):
        return True
    if is_rational_zero(expression):
        return True
    return bool(powsimp(expression) == S.Zero)


def replaced(expression: Any, kind: Any, make: Callable[..., Any]) -> Any:
    """Return ``expression`` with what ``make`` makes of its arguments for each of a ``kind``, the outermost.

    Much faster than SymPy's ``replace``, which rebuilds every part of an expression.
    """
    found = parts_of(expression, kind)
    return expression.xreplace({one: make(*one.args) for one in found}) if found else expression


def vanishes_in_exponentials(expression: Any) -> bool:
    """Return whether an expression is 0 as a rational function of exponentials, sines and cosines too."""
    if is_zero_quotient(expression.rewrite([TrigonometricFunction, HyperbolicFunction], exp)):
        return True
    return is_rational_zero(expand(expression.rewrite(exp), power_exp=True))


def is_rational_zero(expression: Any) -> bool:
    """Return whether a rational function of symbols is identically zero."""
    return is_zero_quotient(expression) or bool(fraction(together(expression))[0].expand() == S.Zero)


def is_of_numbers(expression: Any) -> bool:
    """Return whether SymPy can evaluate an expression once its symbols are numbers."""
    kinds = (ExprWithLimits, Derivative, Limit, Indexed, MatrixSymbol)
    if not isinstance(expression, Expr) or expression.has(*kinds):
        return False
    return all(str(type(one).__module__).startswith("sympy.") for one in expression.atoms(Function))


def differs_somewhere(expression: Any) -> bool:
    """Return whether an expression is surely not 0 with primes for its symbols, exactly or to many digits.

    That settles at once what takes ``simplify`` long. Nothing is said of what is no number then, of sums,
    integrals and limits, of functions that SymPy cannot evaluate, which it would try with ever more digits,
    or of symbols that cannot be positive integers.
    """
    if not is_of_numbers(expression):
        return False
    symbols = sorted(expression.free_symbols, key=str)
    if any(one.is_positive is False or one.is_integer is False for one in symbols):
        return False
    value = expression.xreplace({one: Integer(prime(place + 5)) for place, one in enumerate(symbols)})
    if value.is_Rational:
        return bool(value != S.Zero)
    # Digits that cancel leave a number of low precision, which is then smaller than this.
    number = value.evalf(_DIGITS)
    return bool(number.is_number and number.is_finite and abs(number) > SURELY)


def with_powers(expression: Any, symbols: Sequence[Any], value: Callable[[Any, int], Any]) -> Any:
    """Return a polynomial in ``symbols`` with the ``value`` of each of their powers, multiplied out.

    In SymPy's sparse polynomials over the rationals, many times as fast as ``expand``; what is no polynomial,
    such as a root, is a symbol of its own there. Numbers are added up before anything is made of SymPy's.

    Raises:
        PolynomialError: one of the ``symbols`` stands in a denominator, an exponent or a function.
    """
    parts = {one: place for place, one in enumerate(symbols)}
    _collect_parts(expression, parts)
    beside = list(parts)[len(symbols) :]
    if any(part.has(*symbols) for part in beside):
        raise PolynomialError(f"{expression} is no polynomial in {', '.join(map(str, symbols))}")
    known = cache(lambda one, power: sympify(value(one, power)))
    totals: dict[Any, Any] = {}
    for powers, number in _in_ring(expression, _generators(parts)).terms():
        values = [known(one, power) for one, power in zip(symbols, powers, strict=False) if power]
        others = tuple(one for one in values if not one.is_Rational)
        key = powers[len(symbols) :], others
        factor = prod((QQ(one.p, one.q) for one in values if one.is_Rational), start=number)
        totals[key] = totals.get(key, 0) + factor
    terms = []
    for (powers, others), number in totals.items():
        factors = (one**power for one, power in zip(beside, powers, strict=True) if power)
        terms.append(Mul(QQ.to_sympy(number), *factors, *others))
    return Add(*terms)


def _is_zero_polynomial(expression: Any) -> bool:
    """Return whether an expression is 0 as a polynomial in all that is no rational number in it.

    A root's power is what stands below it, and sin² is 1 - cos².
    """
    if not (isinstance(expression, Add | Mul) and expression.is_commutative):
        return False
    parts: dict[Any, int] = {}
    _collect_parts(expression, parts)
    roots = {one: Pow(one.base, Rational(1, one.exp.q)) for one in parts if _is_power_of_root(one)}
    sines = {one: cos(*one.args) for one in parts if isinstance(one, sin)}
    for one in roots.values():
        _collect_parts(one.base, parts)
    # What the others are put in for comes first, so that it leads in the order of the ring.
    generators = _generators(dict.fromkeys((*roots.values(), *sines, *sines.values(), *parts)))
    if not generators:
        return False
    powers = {one: generators[root] ** int(one.exp.p) for one, root in roots.items()}
    found = _in_ring(expression, generators | powers)
    if found == 0 or not (roots or sines):
        return bool(found == 0)
    below = (generators[one] ** int(one.exp.q) - _in_ring(one.base, generators) for one in roots.values())
    unit = (generators[one] ** 2 + generators[other] ** 2 - 1 for one, other in sines.items())
    return bool(found.rem([*below, *unit]) == 0)


def _is_power_of_root(expression: Any) -> bool:
    exponent = expression.exp if isinstance(expression, Pow) else S.One
    return bool(exponent.is_Rational and exponent.q > 1 and exponent.p > 0)


def _generators(parts: Iterable[Any]) -> dict[Any, Any]:
    """Return an element of a ring of polynomials for each of the parts."""
    places = tuple(parts)
    return dict(zip(places, _ring(len(places)), strict=True))


@cache
def _ring(count: int) -> tuple[Any, ...]:
    """Return a number of generators of a ring of polynomials over the rationals."""
    return tuple(xring([f"x{place}" for place in range(count)], QQ)[1])


def _collect_parts(expression: Any, parts: dict[Any, int]) -> None:
    """Give every part of a polynomial that is no rational number a place."""
    if isinstance(expression, Add | Mul):
        for one in expression.args:
            _collect_parts(one, parts)
    elif is_whole_power(expression):
        _collect_parts(expression.base, parts)
    elif not expression.is_Rational:
        parts.setdefault(expression, len(parts))


def _in_ring(expression: Any, generators: Mapping[Any, Any]) -> Any:
    if expression in generators:
        return generators[expression]
    if isinstance(expression, Add):
        return sum(_in_ring(one, generators) for one in expression.args)
    if isinstance(expression, Mul):
        return prod(_in_ring(one, generators) for one in expression.args)
    if is_whole_power(expression):
        return _in_ring(expression.base, generators) ** int(expression.exp)
    ring = next(iter(generators.values())).ring
    return ring(QQ(expression.p, expression.q))


def is_whole_power(expression: Any) -> bool:
    """Return whether an expression is a power with a positive whole number as exponent."""
    return isinstance(expression, Pow) and bool(expression.exp.is_Integer and expression.exp.p > 0)
