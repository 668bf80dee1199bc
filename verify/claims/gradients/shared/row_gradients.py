"""The gradients that one row of attention sends back: their limit at small scores, mean squares at any size.

Gradients reach score j as δ_j = p_j(z_j - Σ p_i z_i), where the upstream products z_j with the values are
independent of the scores, with mean 0 and one variance.
"""

import math
from functools import cache
from typing import Any, Literal

from sympy import IndexedBase, Limit, S, Sum, Symbol, exp, sqrt

from verify.claims.gradients.shared.jacobian import FROBENIUS
from verify.symbolic.kernel.equations import PutIn
from verify.symbolic.kernel.limits import AtLimit
from verify.symbolic.kernel.sums import SumIdentity
from verify.symbolic.kernel.terms import Families
from verify.symbolic.kernel.words import E, Ordered, n, p, s, sigma
from verify.symbolic.routes import Route, Step, one_step
from verify.symbolic.row_integrals import PRECISE, Approximation, over_lengths
from verify.symbolic.row_means import row_mean
from verify.symbolic.scores import d
from verify.symbolic.softmax import SQUARES, WEIGHTED_SCORE, i, j

Path = Literal["queries", "keys", "values"]

g, k, x, z = (IndexedBase(name) for name in "gkxz")
a = Symbol("a", integer=True, positive=True)
c, tau = Ordered("c", "b", positive=True), Ordered("tau", "t", positive=True)
AVERAGE = Sum(p[j] * z[j], (j, 1, n))
OF_DIRECTION = E(Sum(p[i] * (z[i] - AVERAGE) * x[i], (i, 1, n)) ** 2)
"""The mean square of Σ δ_i x_i over the upstream products, where their variance is 1."""

SPREAD = Sum(p[i] ** 2 * (x[i] - Sum(p[j] * x[j], (j, 1, n))) ** 2, (i, 1, n))
ALONG = (
    Sum(p[i] ** 2 * s[i] ** 2, (i, 1, n))
    - 2 * WEIGHTED_SCORE * Sum(p[i] ** 2 * s[i], (i, 1, n))
    + WEIGHTED_SCORE**2 * SQUARES
)
"""What SPREAD is where x are the scores, multiplied out."""


def _even_attention(size: Any) -> Any:
    """Return δ_j(t) in terms of scores and upstream products: p_j(g_j - Σ p_i g_i), scores t·s."""
    weight = exp(size * s[j]) / Sum(exp(size * s[i]), (i, 1, n))
    others = Sum(exp(size * s[i]) * g[i], (i, 1, n)) / Sum(exp(size * s[i]), (i, 1, n))
    return weight * (g[j] - others)


def _norm(size: Any) -> Any:
    return sqrt(Sum(Sum(_even_attention(size) * k[j, a], (j, 1, n)) ** 2, (a, 1, d)))


_AVERAGED = {base: SumIdentity(Families(variances={base: S.One})) for base in (x, z)}
"""Checks that average over upstream products, or over directions: independent, with mean 0 and variance 1."""


def of_small_scores() -> Route:
    """Return what reaches a score where all scores hardly vary."""
    return Route.of(
        "What reaches the scores when they hardly vary",
        Limit(_even_attention(tau), tau, 0),
        Step(_even_attention(S.Zero), "The total of exponentials is positive: 0 is put in", AtLimit()),
        Step(
            (g[j] - Sum(g[i], (i, 1, n)) / n) / n,
            "Softmax of vanishing scores is even: every probability is one in so many",
            SumIdentity(),
        ),
        defines="the gradient at a score, of scores that vanish",
    )


def ratio_at_small_scores() -> Route:
    """Return the ratio of one query's gradient at scale 1 to that at 1/√d where scores hardly vary."""
    start = Limit(_norm(tau) / (c * _norm(c * tau)), tau, 0)
    return Route.of(
        r"One query’s gradient $c\sum_j\delta_j k_j$ at scale 1, over that at scale $c$",
        start,
        Step(
            1 / c,
            "Both sums over keys tend to that of even attention; the factor before the keys is left",
            AtLimit(),
        ),
        Step(
            sqrt(d),
            r"At the scale $c = 1/\sqrt{d_k}$",
            PutIn({c: 1 / sqrt(d)}),
        ),
    )


def mean_squares() -> tuple[Route, Route, Route]:
    """Return the mean square of Σ δ_i x_i over upstream products, over directions, and along the scores."""
    return (
        one_step(
            "Over upstream products of mean 0 and variance 1: the mean square of $\\sum_i\\delta_i x_i$",
            OF_DIRECTION,
            SPREAD,
            "The Jacobian is symmetric, and the products are uncorrelated",
            _AVERAGED[z],
            defines="the mean square of what reaches the scores, along x",
        ),
        one_step(
            "Components of the keys that the scores do not depend on are such $x_i$, of variance 1",
            E(SPREAD),
            FROBENIUS,
            "They are uncorrelated, too",
            _AVERAGED[x],
            defines="its mean over x of independent components",
        ),
        one_step(
            "The component of the keys along the query is the score over $c|q|$",
            SPREAD.xreplace({x[i]: s[i], x[j]: s[j]}),
            ALONG,
            "Multiplied out",
            SumIdentity(),
            defines="the same along the scores",
        ),
    )


def mean_square(
    path: Path, keys: int, dimension: int, scale: float, within: float = PRECISE
) -> Approximation:
    """Return the mean square of a row's gradients over standard normal queries, keys, values and upstream.

    Of one query's gradient, of what one row sends to all keys, or to all values together, in units of the
    values' dimension. By one-dimensional integrals, with their error (see ``over_lengths``).
    """
    return over_lengths(_at(path, dimension, scale), keys, dimension, scale, within)


@cache  # the average over lengths is kept by the function that it averages
def _at(path: Path, dimension: int, scale: float) -> Any:
    expression, given = _of_row(path), {d: dimension, c: scale}
    return lambda keys, deviation: row_mean(expression, keys, deviation, given)


@cache
def _of_row(path: Path) -> Any:
    """Return the mean square of a row's gradients, given the scores' standard deviation."""
    _, across, along = mean_squares()
    of_query = c**2 * ((d - 1) * E(across.end) + E(along.end) / sigma**2)
    # A key's share of δ_j is the query itself, whose length is σ over the scale.
    paths = {"queries": of_query, "keys": sigma**2 * E(across.end), "values": E(SQUARES)}
    return paths[path]


def ratio_of_roots(path: Path, keys: int, dimension: int, within: float = PRECISE) -> float:
    """Return the root mean square of a row's gradients at scale 1 over that at 1/√d."""
    raw, scaled = (
        mean_square(path, keys, dimension, scale, within).value for scale in (1.0, dimension**-0.5)
    )
    return math.sqrt(raw / scaled)
