"""Four steps, with an optional mask, compute attention."""

import numpy as np

from verify.spec import NORMAL, Allowance, Chain, Chains, Claim, Computed, Items, Limit, Named, Softmax
from verify.spec import Symbol, Wrong, algebra, cite, e, exp, j, limit, oo, over_keys, score, symbols, v
from verify.spec.arrays import Array, Sees, attention, attention_in_loops, in_single_precision
from verify.spec.arrays import largest_difference, over_queries, probabilities, softmax, stream

QUERIES, KEYS, WIDTH, HEAD, SCALE = 5, 7, 3, 16, 1 / 4
c, t, x, seen, hidden = symbols("c t x Z H", positive=True)
WEIGHT = Named(Symbol("P_{aj}"), Softmax(c * score, j))
RNG = stream(0, "attention-definition", "arrays", 0)  # of fixed queries, keys and values
Q, K, V = (NORMAL.draw(RNG, shape) for shape in ((QUERIES, HEAD), (KEYS, HEAD), (KEYS, WIDTH)))
BLOCKED, NO_PADDING = np.full((QUERIES, KEYS), -np.inf), np.arange(KEYS) < KEYS - 2
# Masks by name: as an array that is added to the scores, and in words of single indices for the loops.
MASKS: dict[str, tuple[Array, Sees]] = {
    "none": (np.zeros((QUERIES, KEYS)), lambda _query, _key: True),
    "causal": (np.triu(BLOCKED, 1), lambda query, key: key <= query),
    "padding": (np.where(NO_PADDING, 0.0, BLOCKED), lambda _, key: key not in {5, 6}),  # the last two of 7
}
PARTS = {
    "loops": "largest distance from the definition in loops",
    "rows": "largest distance of a row's sum from 1",
    "masked": "largest weight of a masked key",
}
WRONG = {
    "softmax-over-queries": "the softmax may run over the queries instead of the keys",
    "scale-after-softmax": "scaling may come after the softmax",
    "in-single-precision": "single precision is exact",
    "mask-transposed": "under a causal mask a query sees its own place and the later ones",
    "mask-one-late": "a causal mask may let a query see one key more",
    "masked-after-softmax": "a mask may set weights to zero after the softmax",
    "masked-with-zero": "a masked key gets no weight if its score is set to zero",
}


def derive() -> Chains:
    quotient = over_keys(exp(c * score) * v[j, e]) / over_keys(exp(c * score))
    yield Chain(over_keys(WEIGHT * v[j, e]), title="One entry of the output, step by step").through(
        (over_keys(Softmax(c * score, j) * v[j, e]), "product, scale and softmax over the keys", algebra),
        (quotient, "the exponentials of one row share their sum", algebra),
    )
    rows = Chain(over_keys(WEIGHT), name="rows", title="The sum of a row's weights")
    yield rows.then(1, "each is an exponential over their sum", algebra)
    title = "The weight of a key that a mask leaves"
    defines = "the weight of a key whose exponential is $x$, where those of the keys seen sum to $Z$"
    chain = Chain(Limit(x / (seen + hidden * exp(-t)), t, oo), name="left", title=title, defines=defines)
    yield chain.then(x / seen, "a mask lowers the scores of hidden keys without end", limit())


def distance(part: str, mask: str, weights: Array, output: Array) -> float:
    """Return how far weights and output are from a part of the definition under a mask."""
    sees = MASKS[mask][1]
    if part == "loops":
        return largest_difference(output, attention_in_loops(Q, K, V, SCALE, sees))
    if part == "rows":
        return largest_difference(weights.sum(axis=1), np.ones(QUERIES))
    return float(max(weights[place] for place in np.ndindex(weights.shape) if not sees(*place)))


def experiment() -> Items:
    for mask, (added, _) in MASKS.items():
        weights, output = probabilities(Q, K, SCALE, added), attention(Q, K, V, SCALE, added)
        at = {"mask": mask, "queries": QUERIES, "keys": KEYS, "d_k": HEAD}
        for part in PARTS if mask != "none" else ("loops", "rows"):
            given, near = (part, mask, weights, output), Allowance(0 if part == "masked" else 1e-13)
            yield Computed(f"{part}-{mask}", PARTS[part], distance, given, 0, settings=at, allowance=near)
    scores = SCALE * Q @ K.T
    for name, part, mask, weights in (
        ("softmax-over-queries", "loops", "none", over_queries(scores)),
        ("scale-after-softmax", "loops", "none", SCALE * softmax(scores / SCALE)),
        ("in-single-precision", "loops", "none", in_single_precision(softmax)(scores)),
        ("mask-transposed", "loops", "causal", softmax(scores + np.tril(BLOCKED, -1))),
        ("mask-one-late", "masked", "causal", softmax(scores + np.triu(BLOCKED, 2))),
        ("masked-after-softmax", "rows", "padding", np.where(NO_PADDING, softmax(scores), 0.0)),
        ("masked-with-zero", "masked", "padding", softmax(np.where(NO_PADDING, scores, 0.0))),
    ):
        yield Wrong(name, of=f"{part}-{mask}", arguments=(part, mask, weights, weights @ V), says=WRONG[name])


CLAIM = Claim(
    statement="Product of queries and keys, scale, optional mask, softmax over the keys, product with the "
    "values: each entry of the result is {main:end}, over the keys that the mask leaves, and the weights of "
    "every row sum to one.",
    meaning="The array code that the other claims measure is attention as defined: equal up to rounding to "
    "plain loops, with no mask, a causal one and one for padding. A mask must set scores to minus infinity; "
    "zero is a score like any other. A row whose keys are all masked has no softmax.",
    references=cite("vaswani2017"),
)
