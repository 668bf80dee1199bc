"""Expectations over independent normal scores, for any number of keys and any σ: by parts, and along σ.

For a function F_j of the scores that grows no faster than a polynomial, E ΣF_j·s_j = σ²·E Σ∂F_j/∂s_j (Stein):
both sides differ by the integral of a divergence, that of F times the density, which vanishes at infinity.
With F = ∇f the same says how E f moves with the variance: at the rate ½·E Σ∂²f/∂s_j².
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from sympy import (
    Add,
    Derivative,
    Dummy,
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

from verify.symbolic.algebra import is_zero
from verify.symbolic.checks import By
from verify.symbolic.expectation import E, pointwise
from verify.symbolic.softmax import LOG_TOTAL, SQUARES, i, j, largest, n, p, s, sigma
from verify.symbolic.sums import vanishes
from verify.symbolic.terms import in_scores

if TYPE_CHECKING:
    from verify.symbolic.checks import Reach


@dataclass(frozen=True)
class ByParts:
    """What is averaged differs by Σ(∂F_j/∂s_j - s_j·F_j/σ²) for the ``field`` F_j, whose mean is 0."""

    field: Any
    label: str = "SymPy, any number of keys: the difference is a divergence, whose mean is 0"
    reach: ClassVar[Reach] = "general"

    def holds(self, before: Any, after: Any) -> bool:
        """Return whether the sides differ by the divergence, of a field that grows as a polynomial at most.

        Raises:
            DerivationError: an expression has no normal form, or is not linear in its expectations.
        """
        divergence = Sum(Derivative(in_scores(self.field), s[j]) - s[j] * self.field / sigma**2, (j, 1, n))
        return _is_tame(self.field) and vanishes(pointwise(before - after) - divergence)


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
class LargestScore:
    """The mean of the largest of n normal scores is at most σ√(2 ln n), which is put in for it.

    For every t > 0 the mean of exp(t·largest) is at most that of the sum of all exp(t·s_j), n·exp(σ²t²/2).
    As exp is convex the mean of the largest is at most the logarithm of this over t, for the best t too.
    """

    relation: Literal["≤", "≥"] = "≤"
    label: str = r"SymPy: $\ln(n\,\mathbb{E}\,e^{ts})/t$ at its least over t"
    reach: ClassVar[Reach] = "general"

    def holds(self, before: Any, after: Any) -> bool:
        """Return whether ``after`` is ``before`` with the bound in the place of the mean."""
        t, z = symbols("t z", positive=True)
        centred = (z - sigma**2 * t) ** 2 / (2 * sigma**2)
        of_one = expand(t * z - z**2 / (2 * sigma**2) + centred)  # what is left is free of z
        bound = (log(n) + of_one) / t
        best = sqrt(2 * log(n)) / sigma
        slope = _slope(before, E(largest))
        moves = slope.is_positive if self.relation == "≤" else slope.is_negative
        at_its_least = not of_one.has(z) and is_zero(bound.diff(t).subs(t, best))
        put_in = before.xreplace({E(largest): bound.subs(t, best)})
        return bool(moves) and at_its_least and is_zero(put_in - after)


def _slope(expression: Any, mean: Any) -> Any:
    """Return how an expression moves with one of its expectations; free of it where that is linear."""
    stand_in = Dummy(real=True)
    return expression.xreplace({mean: stand_in}).diff(stand_in)


def _total_grows(before: Any, after: Any) -> bool:
    """Put ln n + σ²·E(1 - Σp²)/2 in for the mean of ln Σexp(s), which is at least that.

    That mean is ln n where σ = 0, and grows with σ² at the rate ½·E Σ∂²/∂s_j². Along a ray of scores Σp²
    only grows, for its slope is a mean of products of differences with the same sign; so the rate falls.
    """
    at_zero = LOG_TOTAL.xreplace({s[i]: S.Zero}).doit()
    least = before.xreplace({E(LOG_TOTAL): at_zero + sigma**2 * E(1 - SQUARES) / 2})
    moves = bool(_slope(before, E(LOG_TOTAL)).is_positive)
    return moves and _rate_falls() and vanishes(pointwise(least - after))


@cache  # several claims take that step
def _rate_falls() -> bool:
    rate = Sum(Derivative(LOG_TOTAL, (s[j], 2)), (j, 1, n)) / 2
    slope = Sum(s[j] * Derivative(in_scores(SQUARES), s[j]), (j, 1, n))
    same_sign = Sum(p[i] * p[j] * (p[i] - p[j]) * (s[i] - s[j]), (i, 1, n), (j, 1, n))
    ordered = exp(s[i]).diff(s[i]).subs(s[i], Symbol("s", real=True)).is_positive
    return vanishes(rate - (1 - SQUARES) / 2) and vanishes(slope - same_sign) and bool(ordered)


TOTAL_GROWS = By(
    "SymPy, any number of keys: value at 0, rate, and that it falls along every ray of scores",
    _total_grows,
    "general",
)
"""Of the mean of ln Σexp(s) no more is kept than its value for equal scores, and σ² times its last rate."""


def _even_is_most(before: Any, after: Any) -> bool:
    """What is lost is Σp·(y - 1 - ln y) with y = 1/(np), which is nowhere negative."""
    y = Symbol("y", positive=True)
    gap = y - 1 - log(y)
    convex = gap.diff(y, 2).is_positive and gap.diff(y).subs(y, 1) == 0 and gap.subs(y, 1) == 0
    lost = Sum(p[i] * gap.subs(y, 1 / (n * p[i])), (i, 1, n))
    return bool(convex) and vanishes(pointwise(after - before) - lost)


EVEN_IS_MOST = By(
    r"SymPy, any number of keys: the difference is $\sum p_i(y_i - 1 - \ln y_i)$ with $y_i = 1/(np_i)$",
    _even_is_most,
    "general",
)
"""No entropy is more than that of equal weights."""
