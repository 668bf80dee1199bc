"""Means over independent normal scores, for any number of keys and any σ: by parts, and along σ.

For a function F_j of the scores that grows no faster than a polynomial, E ΣF_j·s_j = σ²·E Σ∂F_j/∂s_j (Stein):
both sides differ by the integral of a divergence, that of F times the density, which vanishes at infinity.
With F = ∇f the same says how E f moves with the variance: at the rate ½·E Σ∂²f/∂s_j².
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from sympy import (
    Add,
    Derivative,
    Dummy,
    Idx,
    Indexed,
    Mul,
    Pow,
    S,
    Sum,
    Symbol,
    exp,
    expand,
    log,
    sqrt,
    symbols,
)

from verify.symbolic.kernel.algebra import is_zero
from verify.symbolic.kernel.core import Conclusion, Hypotheses, Population, Refused, Rule, rule
from verify.symbolic.kernel.equations import same
from verify.symbolic.kernel.moments import pointwise
from verify.symbolic.kernel.signs import where_defined
from verify.symbolic.kernel.sums import vanishes, where_zero
from verify.symbolic.kernel.terms import ROW, in_scores
from verify.symbolic.kernel.words import E, largest, n, p, s, sigma

i, j = Idx("i"), Idx("j")

NORMAL_SCORES = Population({s: (S.One, S.Zero, sigma**2)}, n, normal=(s,))
"""Independent normal scores with mean 0 and standard deviation σ."""

SQUARES = Sum(p[i] ** 2, (i, 1, n))
LOG_TOTAL = log(Sum(exp(s[i]), (i, 1, n)))


def _of_normal_scores(before: Any, after: Any) -> Hypotheses:
    found = where_defined(after, where_defined(before, ROW.hypotheses(before, after)))
    return found.merged(Hypotheses(law=NORMAL_SCORES))


@rule
@dataclass(frozen=True)
class ByParts(Rule):
    """What is averaged differs by Σ(∂F_j/∂s_j - s_j·F_j/σ²) for the ``field`` F_j, whose mean is 0."""

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


@rule
@dataclass(frozen=True)
class LargestScore(Rule):
    """The mean of the largest of n normal scores is at most σ√(2 ln n), which is put in for it.

    For every t > 0 the mean of exp(t·largest) is at most that of the sum of all exp(t·s_j), n·exp(σ²t²/2).
    As exp is convex the mean of the largest is at most the logarithm of this over t, for the best t too.
    """

    label = r"$\ln(n\,\mathbb{E}\,e^{ts})/t$ at its least over t"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the bound, whose direction follows from how the expression moves with the mean."""
        t, z = symbols("t z", positive=True)
        centred = (z - sigma**2 * t) ** 2 / (2 * sigma**2)
        of_one = expand(t * z - z**2 / (2 * sigma**2) + centred)  # what is left is free of z
        bound = (log(n) + of_one) / t
        best = sqrt(2 * log(n)) / sigma
        if of_one.has(z) or not is_zero(bound.diff(t).subs(t, best)):
            raise Refused("the best t is another")
        if not same(before.xreplace({E(largest): bound.subs(t, best)}), after):
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


@rule
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


@rule
@dataclass(frozen=True)
class EvenIsMost(Rule):
    """No entropy is more than that of equal weights.

    What is lost is Σp·(y - 1 - ln y) with y = 1/(np), which is nowhere negative.
    """

    label = r"any number of keys: the difference is $\sum p_i(y_i - 1 - \ln y_i)$ with $y_i = 1/(np_i)$"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the bound, which holds of every row and so of means."""
        y = Symbol("y", positive=True)
        gap = y - 1 - log(y)
        convex = gap.diff(y, 2).is_positive and gap.diff(y).subs(y, 1) == 0 and gap.subs(y, 1) == 0
        lost = Sum(p[i] * gap.subs(y, 1 / (n * p[i])), (i, 1, n))
        if not convex:
            raise Refused("the gap is not convex")
        return Conclusion(
            "≤", ROW.hypotheses(before, after).merged(where_zero(pointwise(after - before) - lost))
        )
