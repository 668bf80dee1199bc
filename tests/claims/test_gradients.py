"""Derivations of the chapter on gradients: values, bounds and limits by a second way; the routes to them."""

from typing import Any

import numpy as np
import pytest
from sympy import Float, Indexed

from verify.claims.gradients.shared import attention_gradients as routes
from verify.symbolic.attention import DK, DP, DQ, DS, DV, G, K, P, Q, V, a, b, c, d_v, h, j, m
from verify.symbolic.kernel.words import n, p
from verify.symbolic.routes import Route
from verify.symbolic.scores import d


RNG = np.random.default_rng(4)
SIZES = {m: 2, n: 3, d: 2, d_v: 2}
SCALE, FACTOR, SENT = 0.7, 1.9, 1.3
PLACE = {a: 2, j: 3, h: 1, b: 2}
ARRAYS = {
    Q: RNG.standard_normal((2, 2)),
    K: RNG.standard_normal((3, 2)),
    V: RNG.standard_normal((3, 2)),
    G: RNG.standard_normal((2, 2)),
}


def weights_of(scores: Any) -> Any:
    """Return the probabilities of rows of scores, which may be complex."""
    e = np.exp(scores)
    return e / e.sum(axis=1, keepdims=True)


def derivatives(of: Any, at: Any) -> Any:
    """Return the derivatives of a function of a matrix by its entries, by complex steps."""
    found = np.empty(at.shape)
    for place in np.ndindex(*at.shape):
        moved = at.astype(complex)
        moved[place] += 1e-30j
        found[place] = of(moved).imag / 1e-30
    return found


def loss(q: Any, k: Any, v: Any) -> Any:
    """Return the loss whose gradient at the output is G."""
    return (ARRAYS[G] * (weights_of(SCALE * q @ k.T) @ v)).sum()


SCORES = SCALE * ARRAYS[Q] @ ARRAYS[K].T
ARRAYS |= {
    P: weights_of(SCORES),
    DQ: derivatives(lambda q: loss(q, ARRAYS[K], ARRAYS[V]), ARRAYS[Q]),
    DK: derivatives(lambda k: loss(ARRAYS[Q], k, ARRAYS[V]), ARRAYS[K]),
    DV: derivatives(lambda v: loss(ARRAYS[Q], ARRAYS[K], v), ARRAYS[V]),
    DP: derivatives(lambda weights: (ARRAYS[G] * (weights @ ARRAYS[V])).sum(), weights_of(SCORES)),
    DS: derivatives(lambda scores: (ARRAYS[G] * (weights_of(scores) @ ARRAYS[V])).sum(), SCORES),
}
ROW = {p[place + 1]: Float(one) for place, one in enumerate(weights_of(SCORES)[0])}


def value_at(expression: Any) -> float:
    """Return the value_at of an expression in matrices' entries for two queries and three keys."""
    whole = expression.subs({**SIZES, c: SCALE, routes.t: FACTOR, routes.g: SENT}).doit().subs(PLACE)
    entries = {
        one: Float(ARRAYS[one.base][tuple(int(place) - 1 for place in one.indices)])
        for one in whole.atoms(Indexed)
        if one.base in ARRAYS
    }
    return float(whole.xreplace(entries).xreplace(ROW))


def ends(route: Route) -> tuple[float, ...]:
    """Return the value_at that a route starts at, and those of its steps."""
    return value_at(route.start), *(value_at(step.expression) for step in route.steps)


def test_scores_stay_and_their_gradient_by_queries_grows() -> None:
    """The same factor leaves the score of a query and a key as it is, and multiplies the other."""
    assert ends(routes.same_scores())[0] == pytest.approx(SCORES[1, 2])
    assert ends(routes.unbounded_queries())[0] == pytest.approx(FACTOR * ARRAYS[DQ][1, 0])


def test_one_query_sends_no_more_than_it_gets() -> None:
    """What it sends to all values is its probabilities' sum of squares of what it gets, at most all."""
    route = routes.bounded_values()
    sent, squares, most = ends(route)
    weights = weights_of(SCORES)[0]
    assert sent == pytest.approx(((weights * SENT) ** 2).sum())
    assert squares == pytest.approx(sent)
    assert most == pytest.approx(SENT**2)
    assert [step.relation for step in route.followed().steps] == ["=", "≤"]
    assert sent < most
