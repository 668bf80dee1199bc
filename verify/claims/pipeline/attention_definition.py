"""The four steps of attention compute its definition, with and without a mask."""

import numpy as np
from sympy import Limit, Symbol, exp, oo, symbols

from verify.spec import NORMAL, Allowance, Chain, Chains, Claim, Computed, Items, Named, Softmax, Wrong
from verify.spec import algebra, cite, e, j, limit, over_keys, score, v
from verify.spec.arrays import Array, attention, in_single_precision, largest_difference, loops, probabilities
from verify.spec.arrays import softmax, stream

QUERIES, KEYS, HEAD, WIDTH = 5, 7, 16, 3
SCALE, ROUNDING = HEAD**-0.5, Allowance(1e-13)
c, t, x, seen, hidden = symbols("c t x Z H", positive=True)
WEIGHT = Named(Symbol("P_{aj}"), Softmax(c * score, j))
EVERYWHERE = np.ones((QUERIES, KEYS), bool)
PADDING: Array = np.tile(np.arange(KEYS) < KEYS - 2, (QUERIES, 1))
MASKS: dict[str, tuple[Array, loops.Sees]] = {
    "none": (EVERYWHERE, loops.everywhere),
    "causal": (np.tril(EVERYWHERE), lambda query, key: key <= query),
    "padding": (PADDING, lambda _, key: key not in {5, 6}),
}
"""Masks by name: as an array for the array code, and in words of single indices for the loops."""


def derive() -> Chains:
    quotient = over_keys(exp(c * score) * v[j, e]) / over_keys(exp(c * score))
    yield (
        Chain(over_keys(WEIGHT * v[j, e]), title="One entry of the output, backwards through the steps")
        .then(over_keys(Softmax(c * score, j) * v[j, e]), "product, scale and softmax over the keys", algebra)
        .then(quotient, "the exponentials of one row share their sum", algebra)
    )
    title = "The sum of a row's weights"
    rows = Chain(over_keys(WEIGHT), name="rows", title=title, defines="the sum of a row's weights")
    yield rows.then(1, "each is an exponential over their sum", algebra)
    title = "The weight of a key that a mask leaves"
    defines = "the weight of a key whose exponential is $x$, where those of the keys seen sum to $Z$"
    chain = Chain(Limit(x / (seen + hidden * exp(-t)), t, oo), name="left", title=title, defines=defines)
    yield chain.then(x / seen, "a mask lowers the scores of hidden keys without end", limit())


def drawn() -> tuple[Array, Array, Array]:
    """Return fixed queries, keys and values."""
    rng = stream(0, "attention-definition", "arrays", 0)
    return NORMAL.draw(rng, (QUERIES, HEAD)), NORMAL.draw(rng, (KEYS, HEAD)), NORMAL.draw(rng, (KEYS, WIDTH))


def blocking(allowed: Array) -> Array:
    """Return the mask that is added to the scores."""
    return np.where(allowed, 0.0, -np.inf)


def distance(what: str, weights: Array, output: Array, mask: str) -> float:
    """Return how far weights and output are from a part of the definition under a mask."""
    sees = MASKS[mask][1]
    if what == "loops":
        return largest_difference(output, loops.attention_in_loops(*drawn(), SCALE, sees))
    if what == "rows":
        return largest_difference(weights.sum(axis=1), np.ones(QUERIES))
    return float(max(weights[place] for place in np.ndindex(weights.shape) if not sees(*place)))


def experiment() -> Items:
    queries, keys, values = drawn()
    labels = {
        "loops": "largest distance from the definition in loops",
        "rows": "largest distance of a row's sum from 1",
        "masked": "largest weight of a masked key",
    }
    for mask, (allowed, _) in MASKS.items():
        weights = probabilities(queries, keys, SCALE, blocking(allowed))
        output = attention(queries, keys, values, SCALE, blocking(allowed))
        settings = {"mask": mask, "queries": QUERIES, "keys": KEYS, "d_k": HEAD}
        for part in labels if mask != "none" else ("loops", "rows"):
            name, what, given = f"{part}-{mask}", labels[part], (part, weights, output, mask)
            allowance = Allowance(0) if part == "masked" else ROUNDING
            yield Computed(name, what, distance, given, equals=0, settings=settings, allowance=allowance)

    def wrong(name: str, part: str, mask: str, weights: Array, says: str) -> Wrong:
        off = distance(part, weights, weights @ values, mask)
        return Wrong(name, of=f"{part}-{mask}", computed=off, says=says)

    scores = SCALE * queries @ keys.T
    right, single = softmax(scores), in_single_precision(softmax)(scores)
    late, later = (softmax(scores + blocking(seen)) for seen in (np.tril(EVERYWHERE, 1), np.triu(EVERYWHERE)))
    says, turned = "the softmax may run over the queries instead of the keys", loops.over_queries(scores)
    yield wrong("softmax-over-queries", "loops", "none", turned, says)
    says, scaled = "scaling may come after the softmax", SCALE * softmax(scores / SCALE)
    yield wrong("scale-after-softmax", "loops", "none", scaled, says)
    yield wrong("in-single-precision", "loops", "none", single, "single precision is exact")
    says = "rows of single precision sum to one exactly"
    yield wrong("rows-in-single-precision", "rows", "none", single, says)
    says = "under a causal mask a query sees its own place and the later ones"
    yield wrong("mask-transposed", "loops", "causal", later, says)
    yield wrong("mask-one-late", "masked", "causal", late, "a causal mask may let a query see one key more")
    says = "a mask may set weights to zero after the softmax"
    yield wrong("masked-after-softmax", "rows", "padding", np.where(PADDING, right, 0.0), says)
    says, zeroed = "a masked key gets no weight if its score is set to zero", np.where(PADDING, scores, 0.0)
    yield wrong("masked-with-zero", "masked", "padding", softmax(zeroed), says)


CLAIM = Claim(
    title="Four steps, with an optional mask, compute attention",
    statement="Product of queries and keys, scale, optional mask, softmax over the keys, product with the "
    "values: each entry of the result is {main:end}, over the keys that the mask leaves, and the weights of "
    "every row sum to one.",
    meaning="The array code that the other claims measure is attention as defined: equal up to rounding to "
    "plain loops, with no mask, a causal one and one for padding. A mask must set scores to minus infinity; "
    "zero is a score like any other. A row whose keys are all masked has no softmax.",
    references=cite("vaswani2017"),
)
