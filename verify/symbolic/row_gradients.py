"""The gradients that one row of attention sends back: their limit at small scores, mean squares at any size.

Gradients reach score j as δ_j = p_j(z_j - Σ p_i z_i), where the upstream products z_j with the values are
independent of the scores, with mean 0 and one variance.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from sympy import (
    Add,
    Float,
    Function,
    Indexed,
    IndexedBase,
    Limit,
    Poly,
    Rational,
    S,
    Sum,
    Symbol,
    exp,
    limit,
    simplify,
    sqrt,
)

from verify.symbolic.derivation import By, Definition, Route, Step
from verify.symbolic.expectation import E
from verify.symbolic.jacobian import FROBENIUS, without_sums
from verify.symbolic.printing import Ordered
from verify.symbolic.row_integrals import over_lengths
from verify.symbolic.row_means import row_mean
from verify.symbolic.scores import d
from verify.symbolic.softmax import SQUARES, WEIGHTED_SCORE, i, j, n, p, s, sigma

if TYPE_CHECKING:
    from verify.symbolic.row_integrals import Approximation

Path = Literal["queries", "keys", "values"]

g, k, x, z = (IndexedBase(name) for name in "gkxz")
a = Symbol("a", integer=True, positive=True)
c, tau = Ordered("c", "b", positive=True), Ordered("tau", "t", positive=True)
delta = Function(r"\delta")
"""δ_j(t): the gradient that reaches the score of key j, at scores t·s, for upstream products g."""

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
    return sqrt(Sum(Sum(delta(j, size) * k[j, a], (j, 1, n)) ** 2, (a, 1, d)))


def _numbers(keys: int, dimension: int) -> dict[Any, Any]:
    """Return rational scores, upstream products and keys in general position."""
    values = {s[key]: Rational(3 * key * key - 7 * key + 2, 5) for key in range(1, keys + 1)}
    values |= {g[key]: Rational(key**3 - 4 * key + 3, 3) for key in range(1, keys + 1)}
    return values | {
        k[key, one]: Rational(5 * key - 3 * one * key * key + one, 7)
        for key in range(1, keys + 1)
        for one in range(1, dimension + 1)
    }


def _tends_to(before: Any, after: Any) -> bool:
    """Write the softmax out for a few keys and let SymPy take the limit, for the last key."""
    for keys in (2, 3):
        concrete = before.subs({n: keys}).subs(j, keys).doit()
        value = limit(concrete.args[0] if isinstance(concrete, Limit) else concrete, tau, 0)
        if simplify(value - after.subs({n: keys}).subs(j, keys).doit()) != S.Zero:
            return False
    return True


def _ratio_tends_to(before: Any, after: Any) -> bool:
    """Put the softmax in for δ, with concrete keys, and let SymPy take the limit of the squared ratio."""
    inside = before.args[0]
    for keys, dimension in ((2, 1), (2, 2), (3, 2)):
        concrete = (inside**2).subs({n: keys, d: dimension}).doit()
        written = concrete.replace(delta, lambda key, size, m=keys: _written(key, size, m))
        value = limit(written.xreplace(_numbers(keys, dimension)), tau, 0)
        if simplify(value - after.subs(d, dimension) ** 2) != S.Zero:
            return False
    return True


def _written(key: Any, size: Any, keys: int) -> Any:
    return _even_attention(size).subs({n: keys, j: key}).doit()


def _at_the_root(before: Any, after: Any) -> bool:
    return bool(simplify(before.subs(c, 1 / sqrt(d)) - after) == S.Zero)


DEFINITIONS = (
    Definition(Limit(_even_attention(tau), tau, 0), "the gradient at a score, of scores that vanish"),
    Definition(OF_DIRECTION, "the mean square of what reaches the scores, along x"),
    Definition(E(SPREAD), "its mean over x of independent components"),
    Definition(SPREAD.xreplace({x[i]: s[i], x[j]: s[j]}), "the same along the scores"),
)


def of_small_scores() -> Route:
    """Return what reaches a score where all scores hardly vary."""
    return Route(
        "What reaches the scores when they hardly vary",
        Limit(_even_attention(tau), tau, 0),
        (
            Step(
                (g[j] - Sum(g[i], (i, 1, n)) / n) / n,
                "Softmax of vanishing scores is even: every probability is one in so many",
                By("SymPy takes the limit, written out for n = 2, 3 keys", _tends_to, "examples"),
            ),
        ),
    )


def ratio_at_small_scores() -> Route:
    """Return the ratio of one query's gradient at scale 1 to that at 1/√d where scores hardly vary."""
    start = Limit(_norm(tau) / (c * _norm(c * tau)), tau, 0)
    return Route(
        r"One query’s gradient $c\sum_j\delta_j k_j$ at scale 1, over that at scale $c$",
        start,
        (
            Step(
                1 / c,
                "Both sums over keys tend to that of even attention; the factor before the keys is left",
                By("SymPy takes the limit for 2 and 3 keys of rational numbers", _ratio_tends_to, "examples"),
            ),
            Step(
                sqrt(d),
                r"At the scale $c = 1/\sqrt{d_k}$",
                By("SymPy puts the scale in", _at_the_root, "general"),
                "⇒",
            ),
        ),
    )


def mean_squares() -> tuple[Route, Route, Route]:
    """Return the mean square of Σ δ_i x_i over upstream products, over directions, and along the scores."""
    same = By("SymPy, averaged term by term for n = 2, 3, 4 keys", _same_average, "examples")
    return (
        Route(
            "Over upstream products of mean 0 and variance 1: the mean square of $\\sum_i\\delta_i x_i$",
            OF_DIRECTION,
            (Step(SPREAD, "The Jacobian is symmetric, and the products are uncorrelated", same),),
        ),
        Route(
            "Components of the keys that the scores do not depend on are such $x_i$, of variance 1",
            E(SPREAD),
            (Step(FROBENIUS, "They are uncorrelated, too", same),),
        ),
        Route(
            "The component of the keys along the query is the score over $c|q|$",
            SPREAD.xreplace({x[i]: s[i], x[j]: s[j]}),
            (Step(ALONG, "Multiplied out", same),),
        ),
    )


def _same_average(before: Any, after: Any) -> bool:
    """Average both sides over all upstream products and directions, in plain symbols."""
    return all(
        simplify(_averaged(without_sums(before.subs(n, keys))) - _averaged(without_sums(after.subs(n, keys))))
        == S.Zero
        for keys in (2, 3, 4)
    )


def _averaged(expression: Any) -> Any:
    """Return the expression with every expectation over z and x, independent with mean 0 and variance 1."""

    def mean(inside: Any) -> Any:
        drawn = sorted((one for one in inside.atoms(Indexed) if one.base in {x, z}), key=str)
        # One of them is averaged over where both occur.
        over = [one for one in drawn if one.base == z] or drawn
        terms = Poly(inside.expand(), *over).terms()
        return Add(*(factor for powers, factor in terms if set(powers) <= {0, 2} and sum(powers) == 2))

    return expression.replace(E, mean).expand()


def mean_square(path: Path, keys: int, dimension: int, scale: float) -> Approximation:
    """Return the mean square of a row's gradients over standard normal queries, keys, values and upstream.

    Of one query's gradient, of what one row sends to all keys, or to all values together, in units of the
    values' dimension. By one-dimensional integrals, with their error.
    """
    return over_lengths(_at(path, dimension, scale), keys, dimension, scale)


@cache  # the average over lengths is kept by the function that it averages
def _at(path: Path, dimension: int, scale: float) -> Any:
    _, across, along = mean_squares()
    of_query = c**2 * ((d - 1) * E(across.end) + E(along.end) / sigma**2)
    # A key's share of δ_j is the query itself, whose length is σ over the scale.
    paths = {"queries": of_query, "keys": sigma**2 * E(across.end), "values": E(SQUARES)}
    expression = paths[path].subs({d: dimension, c: Float(scale)})
    return lambda keys, deviation: row_mean(expression, keys, deviation)


def ratio_of_roots(path: Path, keys: int, dimension: int) -> float:
    """Return the root mean square of a row's gradients at scale 1 over that at 1/√d."""
    raw, scaled = (mean_square(path, keys, dimension, scale).value for scale in (1.0, dimension**-0.5))
    return math.sqrt(raw / scaled)
