"""The four steps of attention compute its definition, with and without a mask."""

import numpy as np
from sympy import Limit, Symbol, exp, oo, symbols

from verify.spec import NORMAL, Allowance, Chain, Claim, Computed, Items, Named, Softmax, Wrong, algebra, cite
from verify.spec import e, j, limit, over_keys, score, v
from verify.spec.arrays import Array, attention, in_single_precision, largest_difference, loops, probabilities
from verify.spec.arrays import softmax, stream

QUERIES, KEYS, HEAD, WIDTH = 5, 7, 16, 3
SCALE, ROUNDING = HEAD**-0.5, Allowance(1e-13)
c, t, x, seen, hidden = symbols("c t x Z H", positive=True)
WEIGHT = Named(Symbol("P_{aj}"), Softmax(c * score, j))

EVERYWHERE, PLACES = np.ones((QUERIES, KEYS), bool), np.arange(KEYS)
MASKS: dict[str, tuple[Array, loops.Sees]] = {
    "none": (EVERYWHERE, loops.everywhere),
    "causal": (np.tril(EVERYWHERE), lambda query, key: key <= query),
    "padding": (np.tile(PLACES < KEYS - 2, (QUERIES, 1)), lambda _, key: key not in {5, 6}),
}
"""Masks by name: as an array for the array code, and in words of single indices for the loops."""

LABELS = {
    "loops": "largest distance from the definition in loops",
    "rows": "largest distance of a row's sum from 1",
    "masked": "largest weight of a masked key",
}

WRONG = {
    "softmax-over-queries": "the softmax may run over the queries instead of the keys",
    "scale-after-softmax": "scaling may come after the softmax",
    "in-single-precision": "single precision is exact",
    "mask-transposed": "under a causal mask a query sees its own place and the later ones",
    "masked-after-softmax": "a mask may set weights to zero after the softmax",
    "rows-in-single-precision": "rows of single precision sum to one exactly",
    "masked-with-zero": "a masked key gets no weight if its score is set to zero",
    "mask-one-late": "a causal mask may let a query see one key more",
}


def derive() -> tuple[Chain, ...]:
    """Derive the definition, one entry of the output, from the four steps; and what a mask leaves."""
    entry = (
        Chain(over_keys(WEIGHT * v[j, e]), title="One entry of the output, backwards through the steps")
        .then(over_keys(Softmax(c * score, j) * v[j, e]), "product, scale and softmax over the keys", algebra)
        .then(
            over_keys(exp(c * score) * v[j, e]) / over_keys(exp(c * score)),
            "the exponentials of one row share their sum",
            algebra,
        )
    )
    rows = Chain(
        over_keys(WEIGHT),
        name="rows",
        title="The sum of a row's weights",
        defines="the sum of a row's weights",
    ).then(1, "each is an exponential over their sum", algebra)
    left = Chain(
        Limit(x / (seen + hidden * exp(-t)), t, oo),
        name="left",
        title="The weight of a key that a mask leaves",
        defines="the weight of a key whose exponential is $x$, where those of the keys seen sum to $Z$",
    ).then(x / seen, "a mask lowers the scores of hidden keys without end", limit())
    return entry, rows, left


def drawn() -> tuple[Array, Array, Array]:
    """Return fixed queries, keys and values."""
    rng = stream(0, "attention-definition", "arrays", 0)
    return NORMAL.draw(rng, (QUERIES, HEAD)), NORMAL.draw(rng, (KEYS, HEAD)), NORMAL.draw(rng, (KEYS, WIDTH))


def blocking(allowed: Array) -> Array:
    """Return the mask that is added to the scores."""
    return np.where(allowed, 0.0, -np.inf)


def distance(what: str, weights: Array, output: Array, mask: str) -> float:
    """Return how far weights and output are from one part of the definition under a mask."""
    sees = MASKS[mask][1]
    if what == "loops":
        return largest_difference(output, loops.attention_in_loops(*drawn(), SCALE, sees))
    if what == "rows":
        return largest_difference(weights.sum(axis=1), np.ones(QUERIES))
    places = ((query, key) for query in range(QUERIES) for key in range(KEYS) if not sees(query, key))
    return float(max((weights[place] for place in places), default=0.0))


def experiment() -> Items:
    """Compare arrays with loops under three masks; check the rows' sums and what a mask leaves out."""
    queries, keys, values = drawn()
    for mask, (allowed, _) in MASKS.items():
        weights = probabilities(queries, keys, SCALE, blocking(allowed))
        output = attention(queries, keys, values, SCALE, blocking(allowed))
        settings: dict[str, int | str] = {"mask": mask, "queries": QUERIES, "keys": KEYS, "d_k": HEAD}
        for part in LABELS if mask != "none" else ("loops", "rows"):
            name, what, given = f"{part}-{mask}", LABELS[part], (part, weights, output, mask)
            allowance = Allowance(0) if part == "masked" else ROUNDING
            yield Computed(name, what, distance, given, equals=0, settings=settings, allowance=allowance)
    yield from wrong_versions(SCALE * queries @ keys.T, values)


def wrong_versions(scores: Array, values: Array) -> Items:
    """Yield wrong weights of these scores, each of the part that it breaks under a mask."""
    padding = MASKS["padding"][0]
    late, transposed = blocking(np.tril(EVERYWHERE, 1)), blocking(np.triu(EVERYWHERE))
    single = in_single_precision(softmax)(scores)
    versions = (
        ("loops", "none", "softmax-over-queries", loops.over_queries(scores)),
        ("loops", "none", "scale-after-softmax", SCALE * softmax(scores / SCALE)),
        ("loops", "none", "in-single-precision", single),
        ("loops", "causal", "mask-transposed", softmax(scores + transposed)),
        ("rows", "padding", "masked-after-softmax", np.where(padding, softmax(scores), 0.0)),
        ("rows", "none", "rows-in-single-precision", single),
        ("masked", "padding", "masked-with-zero", softmax(np.where(padding, scores, 0.0))),
        ("masked", "causal", "mask-one-late", softmax(scores + late)),
    )
    for part, mask, name, weights in versions:
        off = distance(part, weights, weights @ values, mask)
        yield Wrong(name, of=f"{part}-{mask}", computed=off, says=WRONG[name])


CLAIM = Claim(
    title="Four steps, with an optional mask, compute attention",
    statement="Product of queries and keys, scale, optional mask, softmax over the keys, product with the "
    "values: each entry of the result is {main:end}, over the keys that the mask leaves, and the "
    "weights of every row sum to one.",
    meaning="The array code that the other claims measure is attention as defined: equal up to rounding to "
    "plain loops, with no mask, a causal one and one for padding. A mask must set scores to minus infinity; "
    "zero is a score like any other. A row whose keys are all masked has no softmax.",
    references=cite("vaswani2017"),
)
