"""The four steps of attention compute its definition, with and without a mask."""

import numpy as np
from numpy.typing import NDArray
from sympy import Idx, IndexedBase, Sum, Symbol, exp

from verify.claims.pipeline.shared import EXACTLY, attention
from verify.former import (
    NORMAL, VASWANI, Allowance, Array, Claim, Control, Derivation, Exact, Experiment, Notation, Ordered,
    OrderedBase, Route, Step, d, in_single_precision, largest_difference, loops, matrices, n, no_distance,
    probabilities, softmax, stream,
)  # fmt: skip
from verify.former.rules import Families, SumIdentity

QUERIES, KEYS, HEAD, WIDTH = 5, 7, 16, 3
SCALE, ROUNDING = HEAD**-0.5, Allowance(1e-13)

a, b, i, j, other = (Idx(name) for name in "abijl")
c, m = Symbol("c", positive=True), matrices.m
q, k, v = (OrderedBase(Ordered(name, order)) for name, order in (("q", "q1"), ("k", "q2"), ("v", "q3")))
SCORE, WEIGHT = IndexedBase("S"), IndexedBase("P")
SCORE_OF = Sum(q[a, i] * k[j, i], (i, 1, d))
_NUMERATOR = exp(c * SCORE_OF)
DEFINITION = Sum(_NUMERATOR * v[j, b], (j, 1, n)) / Sum(_NUMERATOR, (j, 1, n))
FAMILIES = Families(
    sizes={q: (m, d), k: (n, d), v: (n, matrices.d_v), SCORE: (m, n), WEIGHT: (m, n)},
    made_of={
        WEIGHT: ((a, j), exp(SCORE[a, j]) / Sum(exp(SCORE[a, other]), (other, 1, n))),
        SCORE: ((a, j), c * Sum(q[a, other] * k[j, other], (other, 1, d))),
    },
)


def derive() -> Derivation:
    """Derive the definition, one entry of the output, from the four steps."""
    normalised = Sum(exp(SCORE[a, j]) * v[j, b], (j, 1, n)) / Sum(exp(SCORE[a, j]), (j, 1, n))
    check = SumIdentity(FAMILIES, "queries, keys and dimensions")
    route = Route.of(
        "One entry of the output, backwards through the steps",
        Sum(WEIGHT[a, j] * v[j, b], (j, 1, n)),
        Step(normalised, r"Softmax: $P_{aj} = e^{S_{aj}}/\sum_l e^{S_{al}}$", check),
        Step(DEFINITION, r"Product and scale: $S_{aj} = c\sum_i q_{ai}k_{ji}$", check),
    )
    return Derivation.of(route)


def _drawn() -> tuple[Array, Array, Array]:
    rng = stream(0, "attention-definition", "arrays", 0)
    return NORMAL.draw(rng, (QUERIES, HEAD)), NORMAL.draw(rng, (KEYS, HEAD)), NORMAL.draw(rng, (KEYS, WIDTH))


MASKS: dict[str, tuple[NDArray[np.bool_], loops.Sees]] = {
    "none": (np.ones((QUERIES, KEYS), bool), loops.everywhere),
    "causal": (np.tril(np.ones((QUERIES, KEYS), bool)), lambda query, key: key <= query),
    "padding": (np.tile(np.arange(KEYS) < KEYS - 2, (QUERIES, 1)), lambda _, key: key not in {5, 6}),
}
"""Masks by name: as an array for the array code, and in words of single indices for the loops."""

LABELS = {
    "loops": "largest distance from the definition in loops",
    "rows": "largest distance of a row's sum from 1",
    "masked": "largest weight of a masked key",
}


def _blocking(allowed: NDArray[np.bool_]) -> Array:
    """Return the mask that is added to the scores."""
    return np.where(allowed, 0.0, -np.inf)


def _distances(weights: Array, output: Array, mask: str) -> dict[str, float]:
    """Return how far weights and output are from the definition under the mask of that name."""
    sees = MASKS[mask][1]
    by_loops = loops.attention_in_loops(*_drawn(), SCALE, sees)
    hidden = (weights[a, j] for a in range(QUERIES) for j in range(KEYS) if not sees(a, j))
    return {
        "loops": largest_difference(output, by_loops),
        "rows": largest_difference(weights.sum(axis=1), np.ones(QUERIES)),
        "masked": float(max(hidden, default=0.0)),
    }


def _held(what: str, name: str, weights: Array, output: Array, mask: str) -> Exact:
    """Return how far weights and output are from one part of the definition."""
    settings = (("mask", mask), ("queries", QUERIES), ("keys", KEYS), ("d_k", HEAD))
    found = _distances(weights, output, mask)[what]
    allowance = EXACTLY if what == "masked" else ROUNDING
    return no_distance(name, LABELS[what], settings, found, _distances, allowance)


def experiment() -> Experiment:
    """Compare arrays with loops under three masks; check the rows' sums and what a mask leaves out."""
    queries, keys, values = _drawn()
    checks = []
    for mask, (allowed, _) in MASKS.items():
        weights = probabilities(queries, keys, SCALE, _blocking(allowed))
        output = attention(queries, keys, values, SCALE, _blocking(allowed))
        parts = LABELS if mask != "none" else ("loops", "rows")
        checks += [_held(what, f"{what}-{mask}", weights, output, mask) for what in parts]
    return Experiment(tuple(checks), _controls(SCALE * queries @ keys.T, values))


def _controls(scores: Array, values: Array) -> tuple[Control, ...]:
    everything, padding = MASKS["none"][0], MASKS["padding"][0]
    late, transposed = _blocking(np.tril(everything, 1)), _blocking(np.triu(everything))
    single = in_single_precision(softmax)(scores)
    worlds = (
        ("loops", "softmax-over-queries", loops.over_queries(scores), "none",
         "the softmax may run over the queries instead of the keys"),
        ("loops", "scale-after-softmax", SCALE * softmax(scores / SCALE), "none",
         "scaling may come after the softmax"),
        ("loops", "in-single-precision", single, "none", "single precision is exact"),
        ("loops", "mask-transposed", softmax(scores + transposed), "causal",
         "under a causal mask a query sees its own place and the later ones"),
        ("rows", "masked-after-softmax", np.where(padding, softmax(scores), 0.0), "padding",
         "a mask may set weights to zero after the softmax"),
        ("rows", "rows-in-single-precision", single, "none", "rows of single precision sum to one exactly"),
        ("masked", "masked-with-zero", softmax(np.where(padding, scores, 0.0)), "padding",
         "a masked key gets no weight if its score is set to zero"),
        ("masked", "mask-one-late", softmax(scores + late), "causal",
         "a causal mask may let a query see one key more"),
    )  # fmt: skip
    return tuple(
        Control(words, _held(what, name, weights, weights @ values, mask))
        for what, name, weights, mask, words in worlds
    )


CLAIM = Claim(
    title="Four steps, with an optional mask, compute attention",
    statement="Product of queries and keys, scale, optional mask, softmax over the keys, product with the "
    "values: each entry of the result is {theorem:result}, over the keys that the mask leaves, and the "
    "weights of every row sum to one.",
    meaning="The array code that the other claims measure is attention as defined: equal up to rounding to "
    "plain loops, with no mask, a causal one and one for padding. A mask must set scores to minus infinity; "
    "zero is a score like any other. A row whose keys are all masked has no softmax.",
    symbols={"product": Notation(r"q_a\cdot k_j", SCORE_OF)},
    references=VASWANI,
)
