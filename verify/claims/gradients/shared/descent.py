"""Gradient descent on the weights of one head, and what a scale of the scores does to it."""

from __future__ import annotations

from typing import Any

from sympy import Derivative, Dummy, Idx, IndexedBase, Sum, Symbol, sqrt

from verify.symbolic.kernel.sums import SumIdentity
from verify.symbolic.kernel.terms import Families
from verify.symbolic.kernel.words import Ordered, n
from verify.symbolic.routes import Route, Step

c, eta = Ordered("c", "b", positive=True), Ordered("eta", "c", positive=True)
m = Symbol("D", integer=True, positive=True)
e, f, a = Symbol("e", integer=True), Idx("f"), Symbol("a", integer=True)
w, v, u, x = (IndexedBase(name) for name in ("w", "v", "u", "x"))
"""Weights of queries and of keys at scale c, and the same times √c: u of queries, x of keys."""

slope = IndexedBase(r"\ell'")
"""ℓ'[e, a]: the loss's derivative with respect to the weight w[e, a]."""

A = IndexedBase("A")
"""A[e, f]: Σ over queries and keys of z_e·(∂ℓ/∂S)·y_f, for tokens z and y; it depends on the scores only."""


_TOKENS, _SLOPES = (IndexedBase("z"), IndexedBase("y")), IndexedBase("L")
"""Tokens of queries and of keys; the loss's derivative by the score of each pair."""

_QUERY, _KEY, _ONE, _TWO, _AT = (Idx(f"{name}'") for name in "rkefa")
_ENTRY, _COLUMN = (Dummy(name, integer=True) for name in "ea")
_SIZES = dict.fromkeys((w, v, u, x, A, slope), (m, m)) | dict.fromkeys(_TOKENS, (n, m)) | {_SLOPES: (n, n)}


def _by_chain_rule(entry: Any, column: Any) -> Any:
    """Return Σ over all scores of the loss's derivative by it, times its derivative by a weight."""
    queries, keys = _TOKENS
    in_weights = queries[_QUERY, _ONE] * w[_ONE, _AT] * v[_TWO, _AT] * keys[_KEY, _TWO]
    score = c * Sum(in_weights, (_ONE, 1, m), (_TWO, 1, m), (_AT, 1, m))
    return Sum(_SLOPES[_QUERY, _KEY] * Derivative(score, w[entry, column]), (_QUERY, 1, n), (_KEY, 1, n))


def _outer(entry: Any, other: Any) -> Any:
    queries, keys = _TOKENS
    return Sum(
        queries[_QUERY, entry] * _SLOPES[_QUERY, _KEY] * keys[_KEY, other], (_QUERY, 1, n), (_KEY, 1, n)
    )


_CHAINED = SumIdentity(
    Families(
        _SIZES,
        indices={e: m, a: m},
        made_of={
            slope: ((_ENTRY, _COLUMN), _by_chain_rule(_ENTRY, _COLUMN)),
            A: ((_ENTRY, _COLUMN), _outer(_ENTRY, _COLUMN)),
        },
    ),
    "tokens and dimensions, and any loss",
)
_RENAMED = SumIdentity(
    Families(
        _SIZES,
        made_of={
            u: ((_ENTRY, _COLUMN), sqrt(c) * w[_ENTRY, _COLUMN]),
            x: ((_ENTRY, _COLUMN), sqrt(c) * v[_ENTRY, _COLUMN]),
        },
    ),
    "dimensions",
)
"""Checks that put derivatives in, or the new weights."""


def one_step() -> Route:
    """Return the route from a step at scale c to the unscaled step of smaller weights and rate."""
    start = sqrt(c) * (w[e, a] - eta * slope[e, a])
    chained = sqrt(c) * (w[e, a] - eta * c * Sum(A[e, f] * v[f, a], (f, 1, m)))
    renamed = u[e, a] - (c * eta) * Sum(A[e, f] * x[f, a], (f, 1, m))
    return Route.of(
        r"One step on the weights of queries at scale $c$ and rate $\eta$, times $\sqrt{c}$",
        start,
        Step(
            chained,
            "Chain rule: the score is the scale times a product that is linear in each weight",
            _CHAINED,
        ),
        Step(
            renamed,
            r"With $u = \sqrt{c}\,w$ and $x = \sqrt{c}\,v$: the unscaled step at the rate $c\eta$",
            _RENAMED,
        ),
    )


def same_scores() -> Route:
    """Return the route that shows the scores unchanged."""
    scores = c * Sum(w[e, a] * v[f, a], (a, 1, m))
    words = r"$u = \sqrt{c}\,w$ and $x = \sqrt{c}\,v$: each weight takes a root of the scale"
    return Route.of(
        "The scores, and with them the loss, are the same",
        scores,
        Step(Sum(u[e, a] * x[f, a], (a, 1, m)), words, _RENAMED),
        defines="what one pair of entries adds to a score",
    )
