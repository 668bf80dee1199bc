"""Means over independent normal variables, for any number of keys: by parts, shifted, and by the largest.

For a function F_j of the scores that grows no faster than a polynomial, E ΣF_j·s_j = σ²·E Σ∂F_j/∂s_j (Stein):
both sides differ by the integral of a divergence, that of F times the density, which vanishes at infinity.
With F = ∇f the same says how E f moves with the variance: at the rate ½·E Σ∂²f/∂s_j².
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from sympy import (
    Add,
    Derivative,
    Dummy,
    Idx,
    Indexed,
    Integral,
    Limit,
    Mul,
    Pow,
    S,
    Sum,
    Symbol,
    Tuple,
    exp,
    log,
    sqrt,
)

from verify.symbolic.kernel.algebra import replaced
from verify.symbolic.kernel.core import Conclusion, Existence, Rule, Theorem
from verify.symbolic.kernel.equations import same
from verify.symbolic.kernel.hypotheses import Hypotheses, Population, Refused
from verify.symbolic.kernel.moments import pointwise, refuse_nested
from verify.symbolic.kernel.signs import is_known, visibly, where_defined
from verify.symbolic.kernel.sums import vanishes, where_zero
from verify.symbolic.kernel.terms import ROW, in_scores
from verify.symbolic.kernel.words import E, Var, largest, n, p, s, sigma

i, j = Idx("i"), Idx("j")

NORMAL_SCORES = Population({s: (S.One, S.Zero, sigma**2)}, n, normal=(s,))
"""Independent normal scores with mean 0 and standard deviation σ."""

SQUARES = Sum(p[i] ** 2, (i, 1, n))
LOG_TOTAL = log(Sum(exp(s[i]), (i, 1, n)))


def _of_normal_scores(before: Any, after: Any) -> Hypotheses:
    found = where_defined(after, where_defined(before, ROW.hypotheses(before, after)))
    return found.merged(Hypotheses(law=NORMAL_SCORES))


@dataclass(frozen=True)
class ByParts(Rule):
    """What is averaged differs by Σ(∂F_j/∂s_j - s_j·F_j/σ²) for the ``field`` F_j, whose mean is 0."""

    existence: ClassVar[Existence] = "alike"
    field: Any
    label = "any number of keys: the difference is a divergence, whose mean is 0"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation, for a field that grows as a polynomial at most."""
        divergence = Sum(Derivative(in_scores(self.field), s[j]) - s[j] * self.field / sigma**2, (j, 1, n))
        if not _is_tame(self.field):
            raise Refused(f"not known to grow as a polynomial at most: {self.field}")
        ranges = where_zero(pointwise(before - after) - divergence)
        return Conclusion(hypotheses=_of_normal_scores(before, after).merged(ranges))


def _is_tame(field: Any) -> bool:
    """Return whether an expression is a polynomial in probabilities, scores and sums of these."""
    if isinstance(field, Add | Mul):
        return all(map(_is_tame, field.args))
    if isinstance(field, Pow):
        return not field.has(Indexed) or bool(field.exp.is_Integer and field.exp > 0 and _is_tame(field.base))
    if isinstance(field, Sum):
        return _is_tame(field.function)
    return not field.has(Indexed) or (isinstance(field, Indexed) and field.base in {p, s})


@dataclass(frozen=True)
class LargestScore(Rule):
    """The mean of the largest of n normal scores is at most σ√(2 ln n), which is put in for it.

    For every t > 0 the mean of exp(t·largest) is at most that of the sum of all exp(t·s_j), n·exp(σ²t²/2).
    As exp is convex the mean of the largest is at most the logarithm of this over t, for the best t too.
    """

    label = r"$\ln(n\,\mathbb{E}\,e^{ts})/t$ at its least over t"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the bound, whose direction follows from how the expression moves with the mean."""
        if not same(before.xreplace({E(largest): sigma * sqrt(2 * log(n))}), after):
            raise Refused("the other side is not this with the bound put in")
        return Conclusion(_direction(before, E(largest), "≤"), _of_normal_scores(before, after))


def _direction(expression: Any, mean: Any, relation: str) -> str:
    """Return how an expression compares with itself once a mean in it is replaced by a bound of it."""
    stand_in = Dummy(real=True)
    slope = expression.xreplace({mean: stand_in}).diff(stand_in)
    if slope.is_positive:
        return relation
    if slope.is_negative:
        return {"≤": "≥", "≥": "≤"}[relation]
    raise Refused(f"not known to move one way with {mean}: its slope is {slope}")


@dataclass(frozen=True)
class TotalGrows(Rule):
    """ln n + σ²·E(1 - Σp²)/2 is put in for the mean of ln Σexp(s), which is at least that.

    That mean is ln n where σ = 0, and grows with σ² at the rate ½·E Σ∂²/∂s_j². Along a ray of scores Σp²
    only grows, for its slope is a mean of products of differences with the same sign; so the rate falls.
    """

    label = "any number of keys: value at 0, rate, and that it falls along every ray of scores"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the bound."""
        if not _rate_falls():
            raise Refused("the rate does not fall")
        least = before.xreplace({E(LOG_TOTAL): log(n) + sigma**2 * E(1 - SQUARES) / 2})
        if least == before:
            raise Refused("there is no such mean in it")
        found = _of_normal_scores(before, after).merged(where_zero(pointwise(least - after)))
        return Conclusion(_direction(before, E(LOG_TOTAL), "≥"), found)


@cache  # several claims take that step
def _rate_falls() -> bool:
    rate = Sum(Derivative(LOG_TOTAL, (s[j], 2)), (j, 1, n)) / 2
    slope = Sum(s[j] * Derivative(in_scores(SQUARES), s[j]), (j, 1, n))
    same_sign = Sum(p[i] * p[j] * (p[i] - p[j]) * (s[i] - s[j]), (i, 1, n), (j, 1, n))
    ordered = exp(s[i]).diff(s[i]).subs(s[i], Symbol("s", real=True)).is_positive
    return vanishes(rate - (1 - SQUARES) / 2) and vanishes(slope - same_sign) and bool(ordered)


@dataclass(frozen=True)
class EvenIsMost(Rule):
    """No entropy is more than that of equal weights.

    What is lost is Σp·(y - 1 - ln y) with y = 1/(np), which is nowhere negative.
    """

    label = r"any number of keys: the difference is $\sum p_i(y_i - 1 - \ln y_i)$ with $y_i = 1/(np_i)$"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the bound, which holds of every row and so of means."""
        y = 1 / (n * p[i])
        lost = Sum(p[i] * (y - 1 - log(y)), (i, 1, n))
        return Conclusion(
            "≤", ROW.hypotheses(before, after).merged(where_zero(pointwise(after - before) - lost))
        )


def _agree_on_average(one: Any, other: Any) -> bool:
    """Return whether what is averaged agrees, sums over one range by what their terms are together."""
    totals: dict[Any, Any] = {}
    for term in Add.make_args((pointwise(one) - pointwise(other)).expand(deep=False)):
        before, total = _apart(term)
        limits = () if total == 1 else total.limits
        if total != 1 and before.has(*total.variables):
            raise Refused(f"an index stands inside a sum and outside: {term}")
        totals[limits] = totals.get(limits, S.Zero) + before * (total.function if limits else 1)
    return all(same(gap, S.Zero) for gap in totals.values())


def _refuse_unknown(expression: Any, law: Population) -> None:
    """Refuse what may depend on the components of a law and is none of them, and what is no sum.

    Raises:
        Refused: there is such a part.
    """
    families = {one.base for one in expression.atoms(Indexed)} - law.moments.keys()
    if bad := sorted(map(str, families | ({largest} if expression.has(largest) else set()))):
        raise Refused(f"it may depend on {', '.join(map(str, law.moments))}: {bad[0]}")
    if expression.has(E, Var, Integral, Limit, Derivative):
        raise Refused(f"only sums may stand in {expression}")


def _normal(base: Any, law: Population) -> tuple[Any, Any]:
    """Return the mean and the variance of the entries of a normal family.

    Raises:
        Refused: they are not normal, or no variance is assumed.
    """
    if base not in law.normal:
        raise Refused(f"{base} is not normal")
    mean = law.moment(base, 1)
    return mean, law.moment(base, 2) - mean**2


def _apart(product: Any) -> tuple[Any, Any]:
    """Return what stands before a product's only sum, and the sum; S.One for that where there is none."""
    sums = [one for one in Mul.make_args(product) if isinstance(one, Sum)]
    if len(sums) != 1 or len(sums[0].limits) != 1:
        return product, S.One
    return product / sums[0], sums[0]


@dataclass(frozen=True)
class Shifted(Rule):
    """The mean of a function of a normal variable x is that of the function at x + h, weighted.

    E f(x) = E f(x + h) exp(-h(x - μ)/v - h²/(2v)): the variable of integration is shifted. The variable is
    an ``entry`` of a family of independent ones, shifted ``by`` h. Where the entry's index is that of a sum,
    every term is shifted in its own entry. In f a sum over all entries moves by what its one term does.
    """

    existence: ClassVar[Existence] = "alike"
    entry: Any
    by: Any
    law: Population = NORMAL_SCORES
    label = "the variable of integration is shifted: the square is completed"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation of the means."""
        _, variance = _normal(self.entry.base, self.law)
        if not is_known(variance, under, strict=True) or not self.by.is_real or self.by.has(Indexed):
            raise Refused(f"{variance} must be positive, and {self.by} a real constant")
        refuse_nested(before)
        _refuse_unknown(self.by, self.law)
        for one in before.atoms(E):
            _refuse_unknown(one.args[0], self.law)
        moved = replaced(before, E, lambda inside: E(Add(*map(self._moved, Add.make_args(inside)))))
        if moved == before or not _agree_on_average(moved, after):
            raise Refused(f"shifted it is {moved}")
        found = where_defined(after, where_defined(before, under)).merged(Hypotheses(law=self.law))
        return Conclusion(hypotheses=self._there(found))

    def _there(self, found: Hypotheses) -> Hypotheses:
        """Return hypotheses under which there is such an entry."""
        (index,) = self.entry.indices
        if index.is_Integer:
            return found.having(self.law.dimension >= index)
        return found.merged(Hypotheses(entries=frozenset({("runs", index, self.law.dimension)})))

    def _moved(self, term: Any) -> Any:
        """Return a term of what is averaged, shifted; each term of a sum over its index in its own entry."""
        (index,) = self.entry.indices
        before, total = _apart(term)
        if total == 1 or index not in total.variables:
            return self._weighted(term)
        if tuple(total.limits[0]) != (index, 1, self.law.dimension) or before.has(Indexed):
            raise Refused(f"{term} is no constant times a sum over all entries")
        return before * Sum(self._weighted(total.function), *total.limits)

    def _weighted(self, function: Any) -> Any:
        mean, variance = _normal(self.entry.base, self.law)
        exponent = -self.by * (self.entry - mean) / variance - self.by**2 / (2 * variance)
        return self._shifted(function) * exp(exponent)

    def _shifted(self, part: Any) -> Any:
        base, (index,) = self.entry.base, self.entry.indices
        if part == self.entry:
            return part + self.by
        if isinstance(part, Indexed) and part.base == base:
            if not (index.is_Integer and part.indices[0].is_Integer):
                raise Refused(f"{part} may be {self.entry}, or not")
            return part
        if not part.has(base):
            return part
        if isinstance(part, Sum):
            return part + self._of_one_term(part)
        return part.func(*map(self._shifted, part.args))

    def _of_one_term(self, total: Any) -> Any:
        """Return by what a sum over all entries moves: by what the term of the shifted entry does."""
        base, (index,) = self.entry.base, self.entry.indices
        ((own, *ends),) = total.limits
        entries = {one for one in total.function.atoms(Indexed) if one.base == base}
        if tuple(ends) != (1, self.law.dimension) or entries != {base[own]} or total.function.has(Sum):
            raise Refused(f"{total} is no sum over all entries, one by one")
        term = total.function.xreplace({base[own]: self.entry})
        if term.has(own) or (own == index):
            raise Refused(f"{total}: its terms are not alike")
        return term.xreplace({self.entry: self.entry + self.by}) - term


_KEY, _AT = Dummy("j", integer=True), Dummy("i", integer=True)


def _grows_slowly(part: Any) -> bool:
    """Return whether an expression grows as a polynomial in scores and σ at most.

    Probabilities are bounded, and their logarithms, and that of the total, grow as the scores do.
    """
    if isinstance(part, Add | Mul):
        return all(map(_grows_slowly, part.args))
    if isinstance(part, Sum):
        return _grows_slowly(part.function)
    if isinstance(part, log):
        inside = part.args[0]
        total = isinstance(inside, Sum) and inside.function == exp(s[inside.limits[0][0]])
        return total or (isinstance(inside, Indexed) and inside.base == p) or _is_constant(part)
    if isinstance(part, Pow) and part.exp.is_Rational and part.exp > 0:
        whole = part.exp.is_Integer or part.base == sigma
        return bool(whole and _grows_slowly(part.base)) or _is_constant(part)
    entry = isinstance(part, Indexed) and part.base in {p, s}
    return entry or part in {sigma, largest} or _is_constant(part)


def _is_constant(part: Any) -> bool:
    """Return whether nothing in an expression is random, or what the scores' law depends on."""
    return not part.has(Indexed, sigma, largest, E, Var, Integral, Limit, Derivative)


@dataclass(frozen=True)
class OverQueries(Rule):
    """What holds of the means over independent normal scores, for any σ, holds over queries and keys.

    Scores s_j = c·Σ_i q_i k_ji of one query and normal keys are, given the query, independent and normal with
    mean 0 and standard deviation c|q|. So in a relation that is linear in its means, and holds for every
    σ > 0, σ is c|q| under the mean over the query as well: a mean is that of the means given the query. A
    standard normal query is 0 with probability 0. What is averaged is nowhere negative, or grows as a
    polynomial at most, so that its mean exists. ``square`` is |q|² as a sum, ``scale`` is c.
    """

    square: Any
    key: Any
    scale: Any
    known: Any = None
    moves: ClassVar[bool] = True
    label = "given the query, scores are normal: the mean of the means given the query"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the relation of the means over queries and keys."""
        known = self.known
        query, dimension = self._query()
        self._refuse_other_hypotheses(known)
        if not is_known(self.scale, known.hypotheses, strict=True) or self.scale.has(Indexed, sigma, n):
            raise Refused(f"not known to be a positive constant: {self.scale}")
        lhs, rhs = (self._over_queries(side, known.hypotheses) for side in (known.lhs, known.rhs))
        if rhs != after:
            raise Refused(f"over queries it is {rhs}")
        law = Population({query: (1, 0, 1), self.key: (1, 0, 1)}, dimension, normal=(query, self.key))
        score = self.scale * Sum(query[_AT] * self.key[_KEY, _AT], (_AT, 1, dimension))
        found = Hypotheses(
            known.hypotheses.domains,
            known.hypotheses.conditions,
            law,
            known.hypotheses.definitions,
            known.hypotheses.entries,
        ).defining((s, Tuple(Tuple(_KEY), score)))
        return Conclusion({"<": "≤", ">": "≥"}.get(known.relation, known.relation), found, lhs=lhs)

    def _query(self) -> tuple[Any, Any]:
        """Return the family of the query's components, and how many there are."""
        if not (isinstance(self.square, Sum) and len(self.square.limits) == 1):
            raise Refused(f"{self.square} is no sum of squares")
        ((index, low, dimension),) = self.square.limits
        base, power = self.square.function.as_base_exp()
        right = isinstance(base, Indexed) and base.indices == (index,) and (low, power) == (1, 2)
        if not (right and dimension.is_Symbol and dimension.is_integer and dimension.is_positive):
            raise Refused(f"{self.square} is no sum of all squares")
        if base.base == self.key:
            raise Refused("queries and keys are different families")
        return base.base, dimension

    def _refuse_other_hypotheses(self, known: Theorem) -> None:
        """Refuse a theorem of other scores, or for some σ only."""
        found = known.hypotheses
        if found.law != NORMAL_SCORES or any(one[0] == "exists" for one in found.entries):
            raise Refused("the theorem is not one of independent normal scores, with means that exist")
        if any(sigma in one.free_symbols for one in found.conditions) or sigma in dict(found.domains):
            raise Refused(f"it holds for some values of {sigma} only")

    def _over_queries(self, side: Any, under: Hypotheses) -> Any:
        inside = pointwise(side)
        if not (is_known(inside, under) or _grows_slowly(inside)):
            raise Refused(f"neither nowhere negative nor known to grow as a polynomial at most: {inside}")
        return E(inside.xreplace({sigma: self.scale * sqrt(self.square)}))


@dataclass(frozen=True)
class OneOfAll(Rule):
    """A function of the largest score that is nowhere negative is at most its sum over all scores.

    The largest is one of them. Under means as well.
    """

    label = "the largest is one of them"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the bound, for any number of scores."""
        if before.has(E) != after.has(E):
            raise Refused("one side is a mean, and the other none")
        inside, total = pointwise(before), pointwise(after)
        if not (isinstance(total, Sum) and len(total.limits) == 1):
            raise Refused(f"{total} is no sum over the scores")
        ((index, *ends),) = total.limits
        if tuple(ends) != (1, n) or inside.has(Indexed, Sum, index) or not inside.has(largest):
            raise Refused(f"{total} is no sum over all scores")
        at = Dummy(real=True)
        if not (visibly(inside) or is_known(inside.xreplace({largest: at}), under)):
            raise Refused(f"not known to be nowhere negative: {inside}")
        if not same(inside.xreplace({largest: s[index]}), total.function):
            raise Refused("the terms are not the same function of each score")
        return Conclusion("≤", where_defined(inside, under))
