"""Laws of random numbers: means as integrals, characteristic functions, and what follows from them.

That a random X exceeds b is E[(1 + sign(X - b))/2] here, where X = b has no probability; the density of X at
x is the derivative of E[(1 + sign(x - X))/2]. Source of what is not elementary: W. Feller, An Introduction
to Probability Theory and Its Applications, volume II, chapters II, III and XV.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from sympy import (
    Derivative,
    Dummy,
    Idx,
    Indexed,
    Integral,
    Interval,
    Mul,
    Pow,
    Range,
    S,
    Sum,
    exp,
    gamma,
    oo,
    pi,
    sign,
    sqrt,
)

from verify.symbolic.kernel.core import Conclusion, Existence, Rule, Theorem
from verify.symbolic.kernel.equations import same
from verify.symbolic.kernel.hypotheses import NOTHING, Hypotheses, Population, Refused
from verify.symbolic.kernel.moments import refuse_nested
from verify.symbolic.kernel.signs import is_known, is_real
from verify.symbolic.kernel.special_integrals import alike, is_bounded
from verify.symbolic.kernel.words import E


def exceeds(x: Any, b: Any) -> Any:
    """Return the chance that a random number without atoms exceeds a place, as a mean."""
    return E((1 + sign(x - b)) / 2)


def density(x: Any, at: Any) -> Any:
    """Return the density of a random number at a place, the slope of the chance to be below it."""
    return Derivative(E((1 + sign(at - x)) / 2), at)


def normal_density(y: Any, variance: Any) -> Any:
    """Return the density of a centred normal number."""
    return exp(-(y**2) / (2 * variance)) / sqrt(2 * pi * variance)


def chi_square_density(w: Any, degrees: Any) -> Any:
    """Return the density of the sum of a number of squares of standard normal numbers."""
    return w ** (degrees / 2 - 1) * exp(-w / 2) / (2 ** (degrees / 2) * gamma(degrees / 2))


def is_tame(expression: Any) -> bool:
    """Return whether a mean of it may be taken in turns: it is bounded, or nowhere negative (Tonelli)."""
    return is_bounded(expression) or is_nowhere_negative(expression)


def is_nowhere_negative(expression: Any) -> bool:
    """Return whether an expression is surely nowhere negative, integrals by what they integrate."""
    if isinstance(expression, Integral) and all(len(limit) == len("xab") for limit in expression.limits):
        upwards = (
            low == -oo or high == oo or is_known(high - low, NOTHING) for _, low, high in expression.limits
        )
        return all(upwards) and is_nowhere_negative(expression.function)
    return is_known(expression, NOTHING)


def of_means(before: Any, turn: Callable[[Any], Any]) -> Any:
    """Return an expression with means turned into what they are equal to; ``turn`` gives None for others.

    Raises:
        Refused: none is turned.
    """
    refuse_nested(before)
    put = {mean: turn(mean.args[0]) for mean in before.atoms(E)}
    put = {mean: found for mean, found in put.items() if found is not None}
    if not put:
        raise Refused("there is no mean of that kind")
    return before.xreplace(put)


def _mean(expression: Any, law: Population) -> Any:
    """Return the mean of an expression, what is not random before it."""
    random = [one for one in Mul.make_args(expression) if law.randoms(one)]
    fixed = Mul(*(one for one in Mul.make_args(expression) if one not in random))
    return fixed * E(Mul(*random)) if random else fixed


def refuse_unless_alike(found: Any, after: Any) -> None:
    """Refuse another side than what was found.

    Raises:
        Refused: it is another.
    """
    if not alike(found, after):
        raise Refused(f"it is {found}")


def _variance(law: Population, family: Any) -> Any:
    """Return the variance of a centred normal component.

    Raises:
        Refused: it is none.
    """
    if family not in law.normal or law.moment(family, 1) != 0:
        raise Refused(f"{family} is not known to be normal with mean 0")
    variance = law.moment(family, 2)
    if not variance.is_positive:
        raise Refused(f"the variance {variance} is not known to be positive")
    return variance


def _squares(part: Any, family: Any) -> Any:
    """Return the sum of the squares of the coefficients of independent entries of one family.

    Raises:
        Refused: the part is no multiple of an entry, and no sum of such over all entries from 1 on.
    """
    if isinstance(part, Sum):
        ((index, low, high),) = part.limits if len(part.limits) == 1 else ((None, S.Zero, S.Zero),)
        if low != 1 or not (high.is_integer and high.is_positive):
            raise Refused(f"{part} is no sum from 1 to a size")
        one, entry = _squares(part.function, family), next(iter(_entries(part.function, family)))
        if list(getattr(entry, "indices", ())).count(index) != 1:
            raise Refused(f"the terms of {part} are not independent")
        return Sum(one, *part.limits)
    entries = _entries(part, family)
    if len(entries) != 1:
        raise Refused(f"{part} is no multiple of one entry of {family}")
    coefficient = part / entries[0]
    if _entries(coefficient, family):
        raise Refused(f"{part} is no multiple of {entries[0]}")
    return coefficient**2


def _solved(part: Any, family: Any, y: Any) -> dict[Any, Any]:
    """Return what to put in so that a part becomes y: for the entry in a multiple of it, y over the rest."""
    if isinstance(part, Sum):
        return {part: y}
    (entry,) = _entries(part, family)
    return {entry: y / (part / entry)}


def _entries(expression: Any, family: Any) -> list[Any]:
    return [one for one in expression.atoms(Indexed) if one.base == family]


def _is_surely_positive(squares: Any, law: Population) -> bool:
    """Return whether a square, or a sum of squares, is positive with probability 1."""
    if isinstance(squares, Sum):
        return _is_surely_positive(squares.function, law)
    if isinstance(squares, Pow) and squares.exp.is_even and squares.exp.is_positive:
        base = squares.base.base if isinstance(squares.base, Indexed) else squares.base
        if base in law.moments:
            return bool(_variance(law, base).is_positive)
    return bool(squares.is_positive)


def refuse_for_some(known: Theorem, symbol: Any, domain: Any) -> None:
    """Refuse a theorem that holds for some values of a symbol only."""
    if known.relation != "=" or known.hypotheses.law is not None:
        raise Refused("the theorem must be an equation without random numbers")
    conditions = {one for condition in known.hypotheses.conditions for one in condition.free_symbols}
    defined = {one for pair in known.hypotheses.definitions for part in pair for one in part.free_symbols}
    if known.hypotheses.domain(symbol) != domain or symbol in conditions | defined:
        raise Refused(f"the theorem holds for some values of {symbol} only")


@dataclass(frozen=True)
class NormalGiven(Rule):
    """What holds of a normal number of any variance holds of a ``part`` that is normal given all the rest.

    The part is Σa_i·x_i, or a·x, with a ``family`` x of independent normal components with mean 0 and
    variance σ², and coefficients that do not depend on them: given these it is normal with variance σ²·Σa_i²,
    which is positive with probability 1. The theorem ``known`` is ∫ g(y)·(normal density of y) dy = h(v) for
    every variance v > 0, and E g(part) is E h(σ²·Σa_i²), for g that is bounded or nowhere negative.
    """

    existence: ClassVar[Existence] = "alike"
    law: Population
    family: Any
    part: Any
    known: Theorem
    variance: Any
    label = "given all others it is normal: what holds for any variance is put in"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation, with the population as its law."""
        of_family, squares = _variance(self.law, self.family), _squares(self.part, self.family)
        v, known = self.variance, self.known
        if not _is_surely_positive(squares, self.law):
            raise Refused(f"not known to be positive: {squares}")
        refuse_for_some(known, v, Interval.open(0, oo))
        y = known.lhs.variables[0] if isinstance(known.lhs, Integral) else None
        if y is None or not y.is_real or v in known.lhs.variables:
            raise Refused(f"{known.lhs} is no mean of a normal number")

        def turned(inside: Any) -> Any:
            of_part = inside.xreplace(_solved(self.part, self.family, y))
            if inside.has(y) or of_part == inside or self.law.randoms(of_part) or of_part.has(v):
                return None
            if not alike(Integral(of_part * normal_density(y, v), (y, -oo, oo)), known.lhs):
                raise Refused(f"the theorem is not about the mean of {of_part}")
            if not is_tame(of_part):
                raise Refused(f"neither bounded nor nowhere negative: {of_part}")
            return _mean(known.rhs.xreplace({v: of_family * squares}), self.law)

        refuse_unless_alike(of_means(before, turned), after)
        return Conclusion(hypotheses=Hypotheses(law=self.law))


@dataclass(frozen=True)
class DensityGiven(Rule):
    """The density of a ``part`` that is normal given all the rest is the mean of the normal density.

    The part is as for ``NormalGiven``. Away from 0 the normal density is at most 1/(|x|·√(2πe)) for whatever
    variance, so that the slope may be taken under the mean.
    """

    existence: ClassVar[Existence] = "all"
    law: Population
    family: Any
    part: Any
    label = "given all others it is normal: the mean of its density"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation, for places other than 0."""
        squares = _variance(self.law, self.family) * _squares(self.part, self.family)
        if not _is_surely_positive(squares, self.law) or not isinstance(before, Derivative):
            raise Refused(f"{before} is no density, or not known to be positive: {squares}")
        x = before.variables[0]
        if before != density(self.part, x) or not is_known(x**2, under, strict=True):
            raise Refused(f"{before} is not the density at a place other than 0")
        refuse_unless_alike(E(normal_density(x, squares)), after)
        return Conclusion(hypotheses=under.merged(Hypotheses(law=self.law)))


@dataclass(frozen=True)
class SumOfSquares(Rule):
    """The sum of the squares of a ``family`` of d independent standard normal components is chi-square.

    The mean of a function h of it, bounded or nowhere negative, is the integral of h against the density with
    d degrees of freedom, over a positive ``variable``.
    """

    existence: ClassVar[Existence] = "alike"
    law: Population
    family: Any
    variable: Any
    label = "the sum of squares is chi-square: the integral against its density"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation, with the population as its law."""
        w = positive_symbol(self.variable, before)
        _refuse_unless_standard(self.law, self.family)

        def turned(inside: Any) -> Any:
            total, size = _total(inside, self.family)
            if total is None:
                return None
            found = inside.xreplace({total: w})
            refuse_untame(found, self.law)
            return Integral(found * chi_square_density(w, size), (w, 0, oo))

        refuse_unless_alike(of_means(before, turned), after)
        return Conclusion(hypotheses=Hypotheses(law=self.law))


def positive_symbol(symbol: Any, before: Any) -> Any:
    """Return a symbol for positive numbers.

    Raises:
        Refused: it is none, or has a meaning already.
    """
    if not (symbol.is_Symbol and symbol.is_positive and not symbol.is_integer) or before.has(symbol):
        raise Refused(f"{symbol} is no positive symbol of its own")
    return symbol


def _refuse_unless_standard(law: Population, family: Any) -> None:
    if _variance(law, family) != 1:
        raise Refused(f"{family} has another variance than 1")


def refuse_untame(found: Any, law: Population) -> None:
    """Refuse what is random still, or neither bounded nor nowhere negative.

    Raises:
        Refused: it is.
    """
    if law.randoms(found):
        raise Refused(f"still random: {found}")
    if not is_tame(found):
        raise Refused(f"neither bounded nor nowhere negative: {found}")


def _total(inside: Any, family: Any) -> tuple[Any, Any]:
    """Return the sum of the squares of a family in an expression, and its size; None where there is none."""
    for one in inside.atoms(Sum):
        index, low, high = one.limits[0]
        entries = _entries(one.function, family)
        whole = (
            len(one.limits) == 1 and len(entries) == 1 and low == 1 and high.is_integer and high.is_positive
        )
        if whole and one.function == entries[0] ** 2 and list(entries[0].indices).count(index) == 1:
            return one, high
    return None, None


@dataclass(frozen=True)
class AlongAndAcross(Rule):
    """A normal vector has no direction: one component along another vector, and d - 1 across, are alike.

    For a ``family`` x of d > 1 independent standard normal components and coefficients a_i that do not depend
    on them, Σa_i·x_i and Σx_i² have together the law of √(Σa_i²)·z and z² + w, with a standard normal z and
    an independent w, chi-square with d - 1 degrees of freedom. The mean of a function of both, even in the
    first and bounded or nowhere negative, is the integral against twice the density of z > 0 and that of w.
    """

    existence: ClassVar[Existence] = "alike"
    law: Population
    family: Any
    part: Any
    along: Any
    across: Any
    label = "a component along, the others across: a normal and a chi-square number"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation, for more than one dimension."""
        z, w = positive_symbol(self.along, before), positive_symbol(self.across, before)
        _refuse_unless_standard(self.law, self.family)
        squares, size = _squares(self.part, self.family), self.part.limits[0][2]
        if z == w or not _is_surely_positive(squares, self.law) or not size.is_Symbol:
            raise Refused(f"{z} and {w} must differ, and {squares} must be positive")

        def turned(inside: Any) -> Any:
            total, of_total = _total(inside, self.family)
            if total is None or not inside.has(self.part) or of_total != size:
                return None
            first = Dummy(real=True)
            opened = inside.xreplace({self.part: first, total: z**2 + w})
            if not same(opened, opened.xreplace({first: -first})):
                raise Refused(f"{inside} is not even in {self.part}")
            # What is left of the other vector has to cancel, its length being positive.
            length = Dummy(positive=True)
            found = opened.xreplace({squares: length}).xreplace({first: sqrt(length) * z})
            if found.has(length) or self.law.randoms(found):
                raise Refused(f"still random: {found}")
            refuse_untame(found, self.law)
            along, across = 2 * normal_density(z, 1), chi_square_density(w, size - 1)
            return Integral(found * along * across, (z, 0, oo), (w, 0, oo))

        refuse_unless_alike(of_means(before, turned), after)
        beyond_one = under.restricted(size, Range(2, oo))
        return Conclusion(hypotheses=beyond_one.merged(Hypotheses(law=self.law)))


@dataclass(frozen=True)
class AlikeTerms(Rule):
    """The mean of a sum of terms that are alike is their number times the mean of one.

    A term depends on its ``index`` by entries of families alone, each of which has it at one place.
    """

    existence: ClassVar[Existence] = "alike"
    law: Population
    index: Any
    label = "linearity: the terms are alike"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation, with the population as its law."""
        j = self.index

        def turned(inside: Any) -> Any:
            if not (isinstance(inside, Sum) and len(inside.limits) == 1 and inside.variables == [j]):
                return None
            _, low, high = inside.limits[0]
            if low != 1 or not (high.is_integer and high.is_positive):
                raise Refused(f"{inside} is no sum from 1 to a size")
            self._refuse_unlike(inside.function)
            return high * E(inside.function)

        refuse_unless_alike(of_means(before, turned), after)
        return Conclusion(hypotheses=Hypotheses(law=self.law))

    def _refuse_unlike(self, term: Any) -> None:
        """Refuse a term whose law may depend on its index."""
        j = self.index
        places: dict[Any, Any] = {}
        for one in term.atoms(Indexed):
            here = tuple(place for place, index in enumerate(one.indices) if index == j)
            if any(index != j and index.has(j) for index in one.indices) or len(here) > 1:
                raise Refused(f"{one} has the index {j} at other places")
            if here and not self.law.is_random(one):
                raise Refused(f"nothing is assumed about {one}")
            if places.setdefault(one.base, here) != here:
                raise Refused(f"some entries of {one.base} have the index {j}, others not")
        if not isinstance(j, Idx) or term.xreplace({one: Dummy() for one in term.atoms(Indexed)}).has(j):
            raise Refused(f"the terms depend on {j} by more than entries")


@dataclass(frozen=True)
class RootOfMeanSquare(Rule):
    """E X is at most √(E X²) for every real X, for the variance is not negative."""

    label = "no variance is negative"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the bound, for any law."""
        refuse_nested(before)
        if not isinstance(before, E) or not is_real(before.args[0]):
            raise Refused(f"{before} is no mean of what is real")
        if not same(sqrt(E(before.args[0] ** 2)), after):
            raise Refused("the other side is not the root of the mean square")
        return Conclusion("≤", under)
