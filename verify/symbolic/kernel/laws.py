"""Laws of random numbers: means as integrals, characteristic functions, and what follows from them.

That a random X exceeds b is E[(1 + sign(X - b))/2] here, where X = b has no probability; the density of X at x
is the derivative of E[(1 + sign(x - X))/2]. Source of what is not elementary: W. Feller, An Introduction to
Probability Theory and Its Applications, volume II, chapters II, III and XV.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from sympy import (
    Add, Derivative, Dummy, Eq, I, Idx, Indexed, Integral, Interval, Limit, Mul, Pow, Range, S, Sum, besselk,
    cos, cosh, diff, erf, exp, gamma, log, oo, pi, preorder_traversal, sign, sin, sinh, sqrt, tanh,
)  # fmt: skip

from verify.symbolic.kernel.core import NOTHING, Conclusion, Hypotheses, Population, Refused, Rule, Theorem, rule
from verify.symbolic.kernel.equations import same
from verify.symbolic.kernel.moments import evaluate, refuse_nested
from verify.symbolic.kernel.signs import is_known, is_real, where_defined
from verify.symbolic.kernel.special_integrals import alike, is_bounded
from verify.symbolic.kernel.words import E, Var

if TYPE_CHECKING:
    from collections.abc import Callable


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
    """Return the density of the sum of so many squares of standard normal numbers."""
    return w ** (degrees / 2 - 1) * exp(-w / 2) / (2 ** (degrees / 2) * gamma(degrees / 2))


def _is_tame(expression: Any) -> bool:
    """Return whether a mean of it may be taken in turns: it is bounded, or nowhere negative (Tonelli)."""
    return is_bounded(expression) or _is_nonnegative(expression)


def _is_nonnegative(expression: Any) -> bool:
    if isinstance(expression, Mul):
        return all(map(_is_nonnegative, expression.args))
    if isinstance(expression, Integral) and all(len(limit) == len("xab") for limit in expression.limits):
        upwards = (low == -oo or high == oo or is_known(high - low, NOTHING) for _, low, high in expression.limits)
        return all(upwards) and _is_nonnegative(expression.function)
    return is_known(expression, NOTHING)


def _of_means(before: Any, turn: Callable[[Any], Any]) -> Any:
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


def _refuse_unless_alike(found: Any, after: Any) -> None:
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
        ((index, low, high),) = part.limits if len(part.limits) == 1 else ((None, None, None),)
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
    if family.is_Symbol:
        return [family] if expression.has(family) else []
    return [one for one in expression.atoms(Indexed) if one.base == family]


def _is_surely_positive(squares: Any, law: Population) -> bool:
    """Return whether a square, or a sum of squares, is positive with probability 1."""
    if isinstance(squares, Sum):
        return _is_surely_positive(squares.function, law)
    if isinstance(squares, Mul):
        return all(_is_surely_positive(one, law) for one in squares.args)
    if isinstance(squares, Pow) and squares.exp.is_even and squares.exp.is_positive:
        base = squares.base.base if isinstance(squares.base, Indexed) else squares.base
        if base in law.moments:
            return bool(_variance(law, base).is_positive)
    return bool(squares.is_positive)


def _refuse_for_some(known: Theorem, symbol: Any, domain: Any) -> None:
    """Refuse a theorem that holds for some values of a symbol only."""
    if known.relation != "=" or known.hypotheses.law is not None:
        raise Refused("the theorem must be an equation without random numbers")
    conditions = {one for condition in known.hypotheses.conditions for one in condition.free_symbols}
    defined = {one for _, meaning in known.hypotheses.definitions for one in meaning.free_symbols}
    if known.hypotheses.domain(symbol) != domain or symbol in conditions | defined:
        raise Refused(f"the theorem holds for some values of {symbol} only")


@rule
@dataclass(frozen=True)
class Given(Rule):
    """What holds of a normal number of any variance holds of a ``part`` that is normal given all the rest.

    The part is Σa_i·x_i, or a·x, with a ``family`` x of independent normal components with mean 0 and
    variance σ², and coefficients that do not depend on them: given these it is normal with variance σ²·Σa_i²,
    which is positive with probability 1. The theorem ``known`` is ∫ g(y)·(normal density of y) dy = h(v) for
    every variance v > 0, and E g(part) is E h(σ²·Σa_i²), for g that is bounded or nowhere negative.
    """

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
        _refuse_for_some(known, v, Interval.open(0, oo))
        y = known.lhs.variables[0] if isinstance(known.lhs, Integral) else None
        if y is None or not y.is_real or v in known.lhs.variables:
            raise Refused(f"{known.lhs} is no mean of a normal number")

        def turned(inside: Any) -> Any:
            of_part = inside.xreplace(_solved(self.part, self.family, y))
            if inside.has(y) or of_part == inside or self.law.randoms(of_part) or of_part.has(v):
                return None
            if not alike(Integral(of_part * normal_density(y, v), (y, -oo, oo)), known.lhs):
                raise Refused(f"the theorem is not about the mean of {of_part}")
            if not _is_tame(of_part):
                raise Refused(f"neither bounded nor nowhere negative: {of_part}")
            return _mean(known.rhs.xreplace({v: of_family * squares}), self.law)

        _refuse_unless_alike(_of_means(before, turned), after)
        return Conclusion(hypotheses=Hypotheses(law=self.law))


@rule
@dataclass(frozen=True)
class DensityGiven(Rule):
    """The density of a ``part`` that is normal given all the rest is the mean of the normal density.

    The part is as for ``Given``. Away from 0 the normal density is at most 1/(|x|·√(2πe)) for whatever
    variance, so that the slope may be taken under the mean.
    """

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
        _refuse_unless_alike(E(normal_density(x, squares)), after)
        return Conclusion(hypotheses=under.merged(Hypotheses(law=self.law)))


@rule
@dataclass(frozen=True)
class SumOfSquares(Rule):
    """The sum of the squares of a ``family`` of d independent standard normal components is chi-square.

    The mean of a function h of it, bounded or nowhere negative, is the integral of h against the density with
    d degrees of freedom, over a positive ``variable``.
    """

    law: Population
    family: Any
    variable: Any
    label = "the sum of squares is chi-square: the integral against its density"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation, with the population as its law."""
        w = _positive(self.variable, before)
        _refuse_unless_standard(self.law, self.family)

        def turned(inside: Any) -> Any:
            total, size = _total(inside, self.family)
            if total is None:
                return None
            found = inside.xreplace({total: w})
            _refuse_untame(found, self.law)
            return Integral(found * chi_square_density(w, size), (w, 0, oo))

        _refuse_unless_alike(_of_means(before, turned), after)
        return Conclusion(hypotheses=Hypotheses(law=self.law))


def _positive(symbol: Any, before: Any) -> Any:
    if not (symbol.is_Symbol and symbol.is_positive and not symbol.is_integer) or before.has(symbol):
        raise Refused(f"{symbol} is no positive symbol of its own")
    return symbol


def _refuse_unless_standard(law: Population, family: Any) -> None:
    if _variance(law, family) != 1:
        raise Refused(f"{family} has another variance than 1")


def _refuse_untame(found: Any, law: Population) -> None:
    if law.randoms(found):
        raise Refused(f"still random: {found}")
    if not _is_tame(found):
        raise Refused(f"neither bounded nor nowhere negative: {found}")


def _total(inside: Any, family: Any) -> tuple[Any, Any]:
    """Return the sum of the squares of a family in an expression, and its size; None where there is none."""
    for one in inside.atoms(Sum):
        index, low, high = one.limits[0]
        entries = _entries(one.function, family)
        whole = len(one.limits) == 1 and len(entries) == 1 and low == 1 and high.is_integer and high.is_positive
        if whole and one.function == entries[0] ** 2 and list(entries[0].indices).count(index) == 1:
            return one, high
    return None, None


@rule
@dataclass(frozen=True)
class AlongAndAcross(Rule):
    """A normal vector has no direction: one component along another vector, and d - 1 across, are alike.

    For a ``family`` x of d > 1 independent standard normal components and coefficients a_i that do not depend
    on them, Σa_i·x_i and Σx_i² have together the law of √(Σa_i²)·z and z² + w, with a standard normal z and
    an independent w, chi-square with d - 1 degrees of freedom. The mean of a function of both, even in the
    first and bounded or nowhere negative, is the integral against twice the density of z > 0 and that of w.
    """

    law: Population
    family: Any
    part: Any
    along: Any
    across: Any
    label = "a component along, the others across: a normal and a chi-square number"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation, for more than one dimension."""
        z, w = _positive(self.along, before), _positive(self.across, before)
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
            _refuse_untame(found, self.law)
            along, across = 2 * normal_density(z, 1), chi_square_density(w, size - 1)
            return Integral(found * along * across, (z, 0, oo), (w, 0, oo))

        _refuse_unless_alike(_of_means(before, turned), after)
        beyond_one = under.restricted(size, Range(2, oo))
        return Conclusion(hypotheses=beyond_one.merged(Hypotheses(law=self.law)))


@rule
@dataclass(frozen=True)
class Multiplied(Rule):
    """From E exp(c·g_i) = r, the same of the sum of d independent g_i alike: E exp(c·Σg_i) = r^d.

    The g_i are real and made of entries of index i alone, and c is real or imaginary.
    """

    law: Population
    index: Any
    known: Any = None
    moves: ClassVar[bool] = True
    label = "independent and alike: the mean of the product is the power of one mean"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the theorem of the sum."""
        known, i = self.known, self.index
        if known.relation != "=" or not (isinstance(known.lhs, E) and isinstance(known.lhs.args[0], exp)):
            raise Refused(f"{known.lhs} is no mean of an exponential")
        exponent = known.lhs.args[0].args[0]
        entries = [one for one in exponent.atoms(Indexed) if self.law.is_random(one)]
        fixed = [one for one in Mul.make_args(exponent) if not self.law.randoms(one)]
        c, g = Mul(*fixed), Mul(*(one for one in Mul.make_args(exponent) if one not in fixed))
        if not (c.is_real or (c / I).is_real) or not isinstance(i, Idx):
            raise Refused(f"{c} is neither real nor imaginary")
        rest = g.xreplace({one: Dummy(real=True) for one in entries})
        if not entries or any(one.indices != (i,) for one in entries) or not rest.is_real:
            raise Refused(f"{g} is not made of entries of the index {i}")
        if rest.has(i) or self.law.randoms(rest) or known.rhs.has(i) or known.hypotheses.conditions:
            raise Refused(f"the terms of index {i} are not independent and alike")
        size = self.law.dimension
        if not same(known.rhs**size, after):
            raise Refused(f"it is {known.rhs**size}")
        hypotheses = known.hypotheses.merged(Hypotheses(law=self.law))
        return Conclusion(hypotheses=hypotheses, lhs=E(exp(c * Sum(g, (i, 1, size)))))


@rule
@dataclass(frozen=True)
class AlikeTerms(Rule):
    """The mean of a sum of terms that are alike is their number times the mean of one.

    A term depends on its ``index`` by entries of families alone, each of which has it at one place.
    """

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

        _refuse_unless_alike(_of_means(before, turned), after)
        return Conclusion(hypotheses=Hypotheses(law=self.law))

    def _refuse_unlike(self, term: Any) -> None:
        """Refuse a term whose law may depend on its index."""
        j, places = self.index, {}
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


_SMOOTH = (Add, Mul, exp, cos, sin, cosh, sinh, tanh, erf)


def _refuse_rough(function: Any, t: Any, *besides: Any) -> None:
    """Refuse a function that is not visibly smooth in a real symbol; ``besides`` are more smooth functions."""
    for one in preorder_traversal(function):
        if one == t or not one.has(t) or isinstance(one, (*_SMOOTH, *besides)):
            continue
        inside, power = one.as_base_exp() if isinstance(one, Pow) else (one.args[0], S.NegativeOne)
        whole = power.is_nonnegative and power.is_integer
        if not isinstance(one, Pow | log) or not (whole or inside.is_positive):
            raise Refused(f"{one} is not known to be smooth")


def _transformed(known: Theorem) -> tuple[Any, Any, Any]:
    """Return X, t and the function of t, of a theorem on the mean of exp(itX) for all real t.

    Raises:
        Refused: it is another theorem.
    """
    exponent = known.lhs.args[0].args[0] if isinstance(known.lhs, E) and known.lhs.args[0].args else S.Zero
    if known.relation != "=" or known.lhs != E(exp(exponent)):
        raise Refused(f"{known.lhs} is no characteristic function")
    for t in sorted(known.rhs.free_symbols, key=str):
        x = exponent.coeff(t, 1) / I if exponent.is_Mul else S.Zero
        if t.is_Symbol and x != 0 and is_real(x) and not x.has(t) and known.hypotheses.domain(t) == S.Reals:
            conditions = {one for condition in known.hypotheses.conditions for one in condition.free_symbols}
            if t not in conditions and same(exponent, I * t * x):
                return x, t, known.rhs
    raise Refused(f"{known.lhs} is no characteristic function for all real arguments")


@rule
@dataclass(frozen=True)
class Moments(Rule):
    """Moments are derivatives of the characteristic function φ at 0: E X^n is φ⁽ⁿ⁾(0)/iⁿ.

    If φ is smooth, all moments exist. The variance is that of order 2 less the square of that of order 1.
    """

    of: Any
    known: Any = None
    moves: ClassVar[bool] = True
    label = "derivatives of the characteristic function at 0"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the theorem of the moment."""
        x, t, function = _transformed(self.known)
        _refuse_rough(function, t)

        def moment(order: int) -> Any:
            return diff(function, t, order).subs(t, 0) / I**order

        if self.of == Var(x):
            value = moment(2) - moment(1) ** 2
        else:
            order = self._order(x)
            value = moment(order)
        if not same(value, after):
            raise Refused(f"it is {value}")
        return Conclusion(hypotheses=self.known.hypotheses, lhs=self.of)

    def _order(self, x: Any) -> int:
        base, order = self.of.args[0].as_base_exp() if self.of.args else (None, None)
        if self.of == E(x):
            return 1
        if base != x or self.of != E(x**order) or not (order.is_Integer and order > 0):
            raise Refused(f"{self.of} is no moment of {x}")
        return int(order)


def _kernel(inside: Any, t: Any) -> tuple[Any, Any, bool]:
    """Return u and the rest, of a product with exp(itu), or with cos(tu): then True.

    Raises:
        Refused: it has another form.
    """
    weight = inside.xreplace({t: S.Zero})
    for one in Mul.make_args(inside):
        if isinstance(one, cos) and one.has(t):
            u = one.args[0] / t
            if not u.has(t) and u.is_real and same(inside, weight * cos(t * u)):
                return u, weight, True
    u = sum((one.args[0] for one in Mul.make_args(inside) if isinstance(one, exp)), S.Zero).diff(t) / I
    if u.has(t) or not u.is_real or not same(inside, weight * exp(I * t * u)):
        raise Refused(f"{inside} is no kernel of a transform")
    return u, weight, False


def _pair(of: Theorem, transform: Theorem) -> tuple[Any, Any, Any, bool]:
    """Return X, and u, weight and whether it is of a cosine, of two theorems with the same function.

    Raises:
        Refused: they do not show that both have one law.
    """
    x, t, function = _transformed(of)
    _refuse_for_some(transform, t, S.Reals)
    if not isinstance(transform.lhs, Integral) or transform.lhs.has(Sum, E):
        raise Refused(f"{transform.lhs} is no transform")
    if not same(transform.rhs, function):
        raise Refused(f"the transform is {transform.rhs}, and the characteristic function {function}")
    u, weight, of_cosine = _kernel(transform.lhs.function, t)
    if any(bound == t or any(S(end).has(t) for end in ends) for bound, *ends in transform.lhs.limits):
        raise Refused(f"the range depends on {t}")
    if not is_known(_with_positive_bessel(weight), NOTHING, strict=True):
        raise Refused(f"not known to be positive: {weight}")
    return x, u, weight, of_cosine


def _with_positive_bessel(expression: Any) -> Any:
    """Return an expression with a positive symbol for K of real order where its argument is positive."""
    parts = (one for one in expression.atoms(besselk) if one.args[0].is_real and one.args[1].is_positive)
    return expression.xreplace({one: Dummy(positive=True) for one in parts})


@rule
@dataclass(frozen=True)
class SameLaw(Rule):
    """A characteristic function determines its law: means of a function of X are integrals against a weight.

    ``of`` says that E exp(itX) is φ(t), ``transform`` that ∫ exp(itu)·ρ is φ(t) too, for all real t and a
    positive weight ρ: then X has the law of u under ρ, and E g(X) is ∫ g(u)·ρ for a g that is bounded or
    nowhere negative. If it is ∫ cos(tu)·ρ, then X is symmetric, and E g(X) is ∫ (g(u) + g(-u))/2·ρ.
    """

    of: Theorem
    transform: Theorem
    label = "the same characteristic function, which determines the law"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation."""
        x, u, weight, of_cosine = _pair(self.of, self.transform)
        h = Dummy(real=True)

        def turned(inside: Any) -> Any:
            g = inside.xreplace({x: h})
            if g == inside or g.free_symbols & set(self.transform.lhs.variables):
                return None
            _refuse_untame(g, self.of.hypotheses.law or Population({}))
            at = g.xreplace({h: u})
            value = (at + g.xreplace({h: -u})) / 2 if of_cosine else at
            return Integral(value * weight, *self.transform.lhs.limits)

        _refuse_unless_alike(_of_means(before, turned), after)
        return Conclusion(hypotheses=under)


@rule
@dataclass(frozen=True)
class DensityByTransform(Rule):
    """A characteristic function determines its law: the density with this transform is that of X.

    ``of`` says that E exp(itX) is φ(t), ``transform`` that ∫ 2cos(tx)·f(x) dx, over x > 0, is φ(t) too, for
    all real t and a positive f, which is then the density at every x > 0 where it is continuous.
    """

    of: Theorem
    transform: Theorem
    label = "the density with this transform; a characteristic function determines its law"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation."""
        x, u, weight, of_cosine = _pair(self.of, self.transform)
        limits = self.transform.lhs.limits
        if not of_cosine or len(limits) != 1 or tuple(limits[0]) != (u, S.Zero, oo):
            raise Refused("the transform is not over the values from 0 on")
        at = before.variables[0] if isinstance(before, Derivative) else u
        if before != density(x, at) or not is_known(at, under, strict=True):
            raise Refused(f"{before} is not the density at a positive place")
        _refuse_rough(_with_positive_bessel(weight), u)
        _refuse_unless_alike((weight / 2).xreplace({u: at}), after)
        return Conclusion(hypotheses=under)


@rule
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


@rule
@dataclass(frozen=True)
class CentralLimit(Rule):
    """Sums of ever more terms, independent and alike, with a finite variance, become normal (Lindeberg, Lévy).

    The chance that a sum of d of them, less its mean and over its standard deviation, is at most x tends to
    (1 + erf(x/√2))/2. The mean and the variance of a term are those of the ``law``, by the moment calculus.
    """

    law: Population
    label = "the central limit theorem"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the limit, with the population as its law."""
        size, sums = self.law.dimension, sorted(before.atoms(Sum), key=str)
        if len(sums) != 1 or len(sums[0].limits) != 1:
            raise Refused("there is not one sum")
        index, *ends = sums[0].limits[0]
        term = sums[0].function
        entries = [one for one in self.law.randoms(term)]
        if ends != [1, size] or not entries or any(getattr(e, "indices", ()) != (index,) for e in entries):
            raise Refused(f"the terms of {sums[0]} are not independent and alike")
        mean, variance = (evaluate(kind(term), self.law) for kind in (E, Var))
        if any(one.has(index, size) for one in (term.xreplace(dict.fromkeys(entries, S.One)), mean, variance)):
            raise Refused(f"the terms of {sums[0]} are not alike")
        if not is_known(variance, under, strict=True):
            raise Refused(f"not known to be positive: {variance}")
        x = _place(after)
        deviation = (sums[0] - size * mean) / sqrt(size * variance)
        inside = before.args[0].args[0] if isinstance(before, Limit) and isinstance(before.args[0], E) else S.Zero
        if before != Limit(E(inside), size, oo) or not same(*map(_sign_of, (inside, (1 + sign(x - deviation)) / 2))):
            raise Refused(f"{before} is not the limit of that chance")
        return Conclusion(hypotheses=where_defined(before, under).merged(Hypotheses(law=self.law)))


def _sign_of(inside: Any) -> Any:
    """Return X where an expression is (1 + sign X)/2.

    Raises:
        Refused: it has another form.
    """
    signs = list(inside.atoms(sign))
    if len(signs) != 1 or not same(inside, (1 + signs[0]) / 2):
        raise Refused(f"{inside} is no chance")
    return signs[0].args[0]


def _place(after: Any) -> Any:
    """Return x where an expression is the normal law's (1 + erf(x/√2))/2.

    Raises:
        Refused: it has another form.
    """
    found = list(after.atoms(erf))
    x = found[0].args[0] * sqrt(2) if len(found) == 1 else S.Zero
    if not (x.is_Symbol and x.is_real) or not same(after, (1 + erf(x / sqrt(2))) / 2):
        raise Refused(f"{after} is not the normal law")
    return x


@rule
@dataclass(frozen=True)
class Solved(Rule):
    """f(x) = c exactly where x = a, for a function f that rises, or falls, all over the domain of x, an interval.

    Its slope has one sign, strictly, and f(a) is c.
    """

    variable: Any
    label = "it moves one way all over, and has the value there"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equivalence."""
        x = self.variable
        if not (isinstance(before, Eq) and isinstance(after, Eq) and after.lhs == x):
            raise Refused("an equation is solved by an equation of the variable")
        if before.rhs.has(x) or after.rhs.has(x) or not isinstance(_interval(x, under), Interval):
            raise Refused(f"{x} must stand on the left alone, and have an interval as its domain")
        if not (after.rhs.is_real and same(before.lhs.subs(x, after.rhs), before.rhs)):
            raise Refused(f"{after.rhs} is no solution")
        if _interval(x, under).contains(after.rhs) != True:  # noqa: E712  # SymPy's truth
            raise Refused(f"{after.rhs} is not known to be in the domain")
        slope = diff(before.lhs, x)
        if not (is_known(slope, under, strict=True) or is_known(-slope, under, strict=True)):
            raise Refused(f"not known to move one way: its slope is {slope}")
        return Conclusion("⇔", where_defined(before, under))


def _interval(x: Any, under: Hypotheses) -> Any:
    domain = under.domain(x) if x.is_Symbol else S.EmptySet
    return Interval(-oo, oo) if domain == S.Reals else domain
