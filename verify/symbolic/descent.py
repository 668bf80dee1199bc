"""Gradient descent on the weights of one head, and what a scale of the scores does to it."""

from __future__ import annotations

from typing import Any

from sympy import Idx, IndexedBase, Rational, S, Sum, Symbol, diff, exp, simplify, sqrt

from verify.symbolic.derivation import By, Definition, Route, Step
from verify.symbolic.printing import Ordered

c, eta = Ordered("c", "b", positive=True), Ordered("eta", "c", positive=True)
m = Symbol("D", integer=True, positive=True)
e, f, a = Symbol("e", integer=True), Idx("f"), Symbol("a", integer=True)
w, v, u, x = (IndexedBase(name) for name in ("w", "v", "u", "x"))
"""Weights of queries and of keys at scale c, and the same times √c: u of queries, x of keys."""

slope = IndexedBase(r"\ell'")
"""ℓ'[e, a]: the loss's derivative with respect to the weight w[e, a]."""

A = IndexedBase("A")
"""A[e, f]: Σ over queries and keys of z_e·(∂ℓ/∂S)·y_f, for tokens z and y; it depends on the scores only."""


def _differentiates(before: Any, after: Any) -> bool:
    """Differentiate the loss of one query and two keys, with its softmax written out, at rational numbers."""
    for width, dimension in ((2, 1), (2, 2)):
        places = range(1, width + 1)
        scores = [
            c
            * sum(
                _token(0, one) * w[one, at] * v[two, at] * _token(key, two)
                for one in places
                for two in places
                for at in range(1, dimension + 1)
            )
            for key in (1, 2)
        ]
        plain = [Symbol(f"S_{key}") for key in (1, 2)]
        first = exp(plain[0]) / (exp(plain[0]) + exp(plain[1]))
        loss = (1 - first) ** 2
        put = dict(zip(plain, scores, strict=True))
        outer = {
            A[one, two]: sum(
                _token(0, one) * diff(loss, plain[key - 1]).subs(put) * _token(key, two) for key in (1, 2)
            )
            for one in places
            for two in places
        }
        own = {slope[1, 1]: diff(loss.subs(put), w[1, 1])}
        numbers = {w[p, q]: Rational(p + 2 * q, 7) for p in places for q in (1, 2)}
        numbers |= {v[p, q]: Rational(3 * p - q, 5) for p in places for q in (1, 2)}
        numbers |= {c: Rational(2, 3), eta: Rational(5, 4)}
        one, other = (
            side.subs({m: width, e: 1, a: 1}).doit().xreplace(own | outer).xreplace(numbers)
            for side in (before, after)
        )
        if abs((one - other).evalf(40)) > Rational(1, 10**30):
            return False
    return True


def _token(which: int, component: int) -> Rational:
    """Return a component of the query's token (0) or a key's (1, 2)."""
    return Rational(2 * which * component - 3 + component, 2 + which)


def _in_new_weights(before: Any, after: Any) -> bool:
    """Write the sum out and put √c times the old weights in for the new ones."""
    for width in (1, 2, 3):
        one, other = (side.subs(m, width).doit() for side in (before, after))
        entries = {u[e, a]: sqrt(c) * w[e, a]} | {x[p, a]: sqrt(c) * v[p, a] for p in range(1, width + 1)}
        if simplify(one - other.xreplace(entries)) != S.Zero:
            return False
    return True


def _same_scores(before: Any, after: Any) -> bool:
    for dimension in (1, 2, 3):
        one, other = (side.subs(m, dimension).doit() for side in (before, after))
        entries = {u[e, p]: sqrt(c) * w[e, p] for p in range(1, dimension + 1)}
        entries |= {x[f, p]: sqrt(c) * v[f, p] for p in range(1, dimension + 1)}
        if simplify(one - other.xreplace(entries)) != S.Zero:
            return False
    return True


def one_step() -> Route:
    """Return the route from a step at scale c to the unscaled step of smaller weights and rate."""
    start = sqrt(c) * (w[e, a] - eta * slope[e, a])
    chained = sqrt(c) * (w[e, a] - eta * c * Sum(A[e, f] * v[f, a], (f, 1, m)))
    renamed = u[e, a] - (c * eta) * Sum(A[e, f] * x[f, a], (f, 1, m))
    return Route(
        r"One step on the weights of queries at scale $c$ and rate $\eta$, times $\sqrt{c}$",
        start,
        (
            Step(
                chained,
                "Chain rule: the score is the scale times a product that is linear in each weight",
                By(
                    "SymPy differentiates a loss of two keys, 30 digits at rational numbers",
                    _differentiates,
                    "numerical",
                ),
            ),
            Step(
                renamed,
                r"With $u = \sqrt{c}\,w$ and $x = \sqrt{c}\,v$: the unscaled step at the rate $c\eta$",
                By("SymPy, the new weights put in, at widths 1, 2, 3", _in_new_weights, "examples"),
            ),
        ),
    )


SCORES = Definition(c * Sum(w[e, a] * v[f, a], (a, 1, m)), "what one pair of entries adds to a score")


def same_scores() -> Route:
    """Return the route that shows the scores unchanged."""
    scores = c * Sum(w[e, a] * v[f, a], (a, 1, m))
    return Route(
        "The scores, and with them the loss, are the same",
        scores,
        (
            Step(
                Sum(u[e, a] * x[f, a], (a, 1, m)),
                r"$u = \sqrt{c}\,w$ and $x = \sqrt{c}\,v$: each weight takes a root of the scale",
                By("SymPy, the new weights put in, at dimensions 1, 2, 3", _same_scores, "examples"),
            ),
        ),
    )
