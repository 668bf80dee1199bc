"""Which powers of the dimension an expression of expectations holds, and so how many dimensions settle it.

An expectation of a product of s sums over the index is a sum over the ways in which the factors' indices can
coincide: with b distinct ones it occurs d(d-1)…(d-b+1) times, so that powers d to d^s can occur. By
Descartes' rule of signs a real polynomial with k terms has fewer than k positive zeros; an expression with k
powers that vanishes at k dimensions therefore vanishes at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, reduce
from itertools import product
from typing import TYPE_CHECKING, Any

from sympy import Add, Dummy, Indexed, Mul, Pow, S, Sum

from verify.symbolic.algebra import replaced
from verify.symbolic.expectation import DerivationError, E, Var
from verify.symbolic.printing import plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from verify.symbolic.expectation import Population

Powers = frozenset[Any]
"""Exponents of the dimension; inside an expectation pairs of these with numbers of sums."""

_NONE: Powers = frozenset({S.Zero})


@dataclass(frozen=True)
class _Quotient:
    """The powers in a numerator, over a product of expressions of several powers each."""

    top: Powers
    below: tuple[tuple[Any, int], ...] = ()


def powers_of_dimension(one: Any, other: Any, population: Population) -> Powers:
    """Return the exponents of the dimension that may occur in (one - other) times their denominators.

    Raises:
        DerivationError: an expression is no quotient of sums of powers of the dimension, or the terms of a
            sum in it are not alike.
    """
    for side in (one, other):
        refuse_unlike_terms(side, population)
    return _Degrees(population.dimension).of(one, other)


class _Degrees:
    """Reads the powers of one dimension off expressions."""

    def __init__(self, dimension: Any) -> None:
        self._dimension = dimension

    def of(self, *terms: Any) -> Powers:
        """Return the powers in the numerator of a sum of expressions."""
        return self._sum(terms).top

    def _outside(self, expression: Any) -> _Quotient:
        """Return the powers in an expression of expectations."""
        if expression.has(self._dimension):
            for kind, read in _READERS.items():
                if isinstance(expression, kind):
                    return read(self, expression)
        if expression == self._dimension:
            return _Quotient(frozenset({S.One}))
        if expression == 0:
            return _Quotient(frozenset())
        if expression.has(self._dimension):
            raise DerivationError(f"{plain(expression)}: no quotient of powers of {plain(self._dimension)}")
        return _Quotient(_NONE)

    def _added(self, expression: Any) -> _Quotient:
        return self._sum(expression.args)

    def _multiplied(self, expression: Any) -> _Quotient:
        return self._product([self._outside(one) for one in expression.args])

    def _expected(self, expression: Any) -> _Quotient:
        factor, argument = _factor_out(expression.args[0])
        return self._product([self._outside(factor), _Quotient(self._mean(argument))])

    def _varied(self, expression: Any) -> _Quotient:
        """Return the powers in E(x²) - E(x)², times the square of a factor."""
        factor, argument = _factor_out(expression.args[0])
        unfolded = self._sum((E(argument**2), E(argument) ** 2))
        return self._product([self._outside(factor**2), unfolded])

    def _sum(self, terms: Any) -> _Quotient:
        parts = [self._outside(one) for one in terms]
        below: dict[Any, int] = {}
        for part in parts:
            for base, power in part.below:
                below[base] = max(power, below.get(base, 0))
        tops = [self._over(part, below) for part in parts]
        return _Quotient(frozenset().union(*tops), tuple(below.items()))

    def _over(self, part: _Quotient, below: dict[Any, int]) -> Powers:
        """Return the powers in the numerator once the denominator is that of several terms."""
        top, own = part.top, dict(part.below)
        for base, power in below.items():
            for _ in range(power - own.get(base, 0)):
                top = _sums(top, self._outside(base).top)
        return top

    def _product(self, parts: list[_Quotient]) -> _Quotient:
        top: Powers = _NONE
        below: dict[Any, int] = {}
        for part in parts:
            top = _sums(top, part.top)
            for base, power in part.below:
                below[base] = below.get(base, 0) + power
        return _Quotient(top, tuple(below.items()))

    def _power(self, expression: Any) -> _Quotient:
        base, exponent = expression.args
        if isinstance(base, E) and exponent.is_Integer:
            # A root in front may be none to this power.
            factor, argument = _factor_out(base.args[0])
            if factor != 1:
                return self._product(
                    [self._outside(factor**exponent), self._outside(E(argument) ** exponent)]
                )
        inside = self._outside(base)
        if not inside.below and len(inside.top) == 1 and exponent.is_Rational:
            (only,) = inside.top
            return _Quotient(frozenset({only * exponent}))
        if exponent.is_Integer and exponent > 0:
            return self._product([inside] * int(exponent))
        if exponent.is_Integer and not inside.below:
            return _Quotient(_NONE, ((base, -int(exponent)),))
        raise DerivationError(f"{plain(expression)}: no quotient of powers of {plain(self._dimension)}")

    def _mean(self, argument: Any) -> Powers:
        """Return the powers in an expectation: a product of s sums brings the first s of them."""
        found = set()
        for sums, power in self._inside(argument):
            found |= {power + distinct for distinct in range(1, sums + 1)} if sums else {power}
        return frozenset(found)

    def _inside(self, expression: Any) -> Powers:
        """Return how many sums there may be in a product, with the power of the dimension beside them."""
        if not expression.has(self._dimension):
            return frozenset({(0, S.Zero)})
        if isinstance(expression, Sum):
            return frozenset((1 + sums, power) for sums, power in self._inside(expression.function))
        if isinstance(expression, Add):
            return frozenset().union(*map(self._inside, expression.args))
        if isinstance(expression, Mul):
            return reduce(_pairs, map(self._inside, expression.args))
        if isinstance(expression, Pow) and expression.exp.is_Integer and expression.exp > 0:
            return reduce(_pairs, [self._inside(expression.base)] * int(expression.exp))
        beside = self._outside(expression)
        if expression.has(Sum) or beside.below:
            raise DerivationError(f"{plain(expression)}: no product of sums and powers")
        return frozenset((0, power) for power in beside.top)


def _factor_out(argument: Any) -> tuple[Any, Any]:
    """Return the factor of a product of sums that no component stands in, and the rest."""
    factor, rest = argument.as_independent(Sum, as_Add=False)
    return (S.One, argument) if factor.atoms(Indexed) else (factor, rest)


_READERS: dict[type, Callable[[_Degrees, Any], _Quotient]] = {
    Add: _Degrees._added,
    Mul: _Degrees._multiplied,
    Pow: _Degrees._power,
    E: _Degrees._expected,
    Var: _Degrees._varied,
}


def _sums(one: Powers, other: Powers) -> Powers:
    return frozenset(a + b for a, b in product(one, other))


def _pairs(one: Powers, other: Powers) -> Powers:
    return frozenset((sums + more, power + further) for (sums, power), (more, further) in product(one, other))


@cache  # a step's expression is the next step's start
def refuse_unlike_terms(expression: Any, population: Population) -> None:
    """Refuse sums whose terms do not all add the same to an expectation, whatever the dimension."""
    for one in expression.atoms(Sum):
        variable, *ends = one.limits[0]
        if len(one.limits) > 1 or ends != [1, population.dimension] or one.function.has(Sum):
            raise DerivationError(
                f"{plain(one)}: only single sums from 1 to {plain(population.dimension)} are covered"
            )
        entries = one.function.atoms(Indexed)
        if any(entry.indices != (variable,) or not population.is_random(entry) for entry in entries):
            raise DerivationError(f"{plain(one)}: its terms are not independent and alike")
        if variable in one.function.xreplace({entry: Dummy() for entry in entries}).free_symbols:
            raise DerivationError(f"{plain(one)}: the index stands outside the components")
    for mean in expression.atoms(E, Var):
        outside = replaced(mean.args[0], Sum, lambda *_: Dummy())
        if mean.has(Sum) and any(isinstance(one, Indexed) for one in population.randoms(outside)):
            raise DerivationError(
                f"{plain(mean.args[0])}: a component stands outside the sums over its index"
            )
