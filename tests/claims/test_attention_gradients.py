"""Routes to the gradients of attention: every formula on them has the value of the loss's own derivative."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from sympy import Float, Indexed

from verify.claims.gradients.shared import attention_gradients as routes
from verify.symbolic.attention import DK, DP, DQ, DS, DV, G, K, P, Q, V, a, b, c, d_v, h, j, m
from verify.symbolic.kernel.words import n, p
from verify.symbolic.scores import d

if TYPE_CHECKING:
    from verify.symbolic.routes import Route

RNG = np.random.default_rng(4)
SIZES = {m: 2, n: 3, d: 2, d_v: 2}
SCALE, FACTOR, LENGTH = 0.7, 1.9, 1.3
PLACE = {a: 2, j: 3, h: 1, b: 2}
ARRAYS = {
    Q: RNG.standard_normal((2, 2)),
    K: RNG.standard_normal((3, 2)),
    V: RNG.standard_normal((3, 2)),
    G: RNG.standard_normal((2, 2)),
}


def softmax(scores: Any) -> Any:
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
    return (ARRAYS[G] * (softmax(SCALE * q @ k.T) @ v)).sum()


SCORES = SCALE * ARRAYS[Q] @ ARRAYS[K].T
ARRAYS |= {
    P: softmax(SCORES),
    DQ: derivatives(lambda q: loss(q, ARRAYS[K], ARRAYS[V]), ARRAYS[Q]),
    DK: derivatives(lambda k: loss(ARRAYS[Q], k, ARRAYS[V]), ARRAYS[K]),
    DV: derivatives(lambda v: loss(ARRAYS[Q], ARRAYS[K], v), ARRAYS[V]),
    DP: derivatives(lambda weights: (ARRAYS[G] * (weights @ ARRAYS[V])).sum(), softmax(SCORES)),
    DS: derivatives(lambda scores: (ARRAYS[G] * (softmax(scores) @ ARRAYS[V])).sum(), SCORES),
}
ROW = {p[place + 1]: Float(one) for place, one in enumerate(softmax(SCORES)[0])}


def value(expression: Any) -> float:
    """Return the value of an expression in matrices' entries for two queries and three keys."""
    whole = expression.subs({**SIZES, c: SCALE, routes.t: FACTOR, routes.g: LENGTH}).doit().subs(PLACE)
    entries = {
        one: Float(ARRAYS[one.base][tuple(int(place) - 1 for place in one.indices)])
        for one in whole.atoms(Indexed)
        if one.base in ARRAYS
    }
    return float(whole.xreplace(entries).xreplace(ROW))


def ends(route: Route) -> tuple[float, ...]:
    """Return the value that a route starts at, and those of its steps."""
    return value(route.start), *(value(step.expression) for step in route.steps)


def test_each_matrix_has_a_route() -> None:
    """From its derivative, at any place."""
    starts = {route.start for route in (routes.of_queries(), *routes.of_single_matrices())}
    assert starts == {DQ[a, h], DP[a, j], DS[a, j], DK[j, h], DV[j, b]}


def test_scores_stay_and_their_gradient_by_queries_grows() -> None:
    """The same factor leaves the score of a query and a key as it is, and multiplies the other."""
    assert ends(routes.same_scores())[0] == pytest.approx(SCORES[1, 2])
    assert ends(routes.unbounded_queries())[0] == pytest.approx(FACTOR * ARRAYS[DQ][1, 0])


def test_one_query_sends_no_more_than_it_gets() -> None:
    """What it sends to all values is its probabilities' sum of squares of what it gets, at most all."""
    route = routes.bounded_values()
    sent, squares, most = ends(route)
    weights = softmax(SCORES)[0]
    assert sent == pytest.approx(((weights * LENGTH) ** 2).sum())
    assert squares == pytest.approx(sent)
    assert most == pytest.approx(LENGTH**2)
    assert [step.relation for step in route.followed().steps] == ["=", "≤"]
    assert sent < most


def test_what_lemmas_start_at_is_defined() -> None:
    """In words, each once."""
    lemmas = (
        *routes.of_single_matrices(),
        routes.bounded_values(),
        routes.same_scores(),
        routes.unbounded_queries(),
    )
    defined = [route.definition for route in lemmas if route.definition]
    assert [one.expression for one in defined] == [route.start for route in lemmas]
    assert len({one.meaning for one in defined}) == len(lemmas)
