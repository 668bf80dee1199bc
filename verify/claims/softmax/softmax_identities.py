"""What holds for every softmax."""

from collections.abc import Callable

import numpy as np
from scipy import special

from verify.spec import ROUNDING, Chain, Chains, Claim, Computed, Items, Softmax, Symbol, Wrong, a, algebra
from verify.spec import exp, j, l, over_keys, s
from verify.spec.arrays import Array, in_single_precision, largest_difference, over_queries, softmax, stream

ROWS, KEYS = 64, 50
# The identities by name, each with the words for the error of array code.
LABELS = {
    "sum": "largest distance of a row's sum from 1",
    "ratio": "largest distance of a weight from the row's largest times the exponential of their difference",
    "shift": "largest change by adding 100 to all scores",
    "library": "largest distance from SciPy's softmax",
}
# Array code of wrong versions, by their ids.
WRONG: dict[str, Callable[[Array], Array]] = {
    "divided-by-n": lambda x: np.exp(x) / KEYS,
    "ratio-of-halves": lambda x: softmax(x / 2),
    "squares-for-exponentials": lambda x: x**2 / np.sum(x**2, axis=1, keepdims=True),
    "size-saturates": lambda x: softmax(x * np.abs(np.mean(x, axis=1, keepdims=True))),
    "over-rows": over_queries,
}
c = Symbol("c", real=True)
p = Softmax(s[a, j], j)


def derive() -> Chains:
    yield Chain(over_keys(p)).then(1, "numerators and denominator are the same sum", algebra)
    ratio = Chain(p / Softmax(s[a, l], l), name="ratio", title="The ratio of two weights")
    yield ratio.then(exp(s[a, j] - s[a, l]), "the common denominator cancels", algebra)
    shift = Chain(Softmax(s[a, j] + c, j), name="shift", title="The same number added to all scores")
    yield shift.then(p, "a factor $e^c$ cancels from numerator and denominator", algebra)


def distance(what: str, size: float, code: Callable[[Array], Array] = softmax) -> float:
    """Return how far array code is from an identity, or from SciPy's softmax, at scores of this deviation."""
    scores = size * stream(0, "softmax-identities", f"scores-{size:g}", 0).normal(size=(ROWS, KEYS))
    weights = code(scores)
    if what == "sum":
        return largest_difference(weights.sum(axis=1), np.ones(ROWS))
    if what == "shift":
        return largest_difference(code(scores + 100), weights)
    if what == "library":
        return largest_difference(weights, special.softmax(scores, axis=1))
    largest = scores.argmax(axis=1, keepdims=True)
    most, top = (np.take_along_axis(array, largest, axis=1) for array in (weights, scores))
    return largest_difference(weights, most * np.exp(scores - top))


def experiment() -> Items:
    for size in (0.1, 1.0, 30.0, 1000.0):
        at, settings = f"at-{size:g}".replace(".", "-"), {"rows": ROWS, "keys": KEYS, "sigma": size}
        for what, label in LABELS.items():
            name, given = f"{what}-{at}", (what, size)
            yield Computed(name, label, distance, given, equals=0, settings=settings, allowance=ROUNDING)
    for name, what, says in (
        ("divided-by-n", "sum", "the number of keys will do in place of the sum"),
        ("ratio-of-halves", "ratio", "a factor on all scores cancels as a shift does"),
        ("squares-for-exponentials", "shift", "squares will do in place of the exponentials"),
        ("size-saturates", "shift", "scores far from 0 saturate, whatever their differences"),
        ("over-rows", "library", "the weights may sum to 1 over the rows"),
    ):
        yield Wrong(name, of=f"{what}-at-1", arguments=(what, 1.0, WRONG[name]), says=says)
    for what, label in LABELS.items():
        single, says = (what, 1.0, in_single_precision(softmax)), f"single precision is exact: {label}"
        yield Wrong(f"{what}-in-single-precision", of=f"{what}-at-1", arguments=single, says=says)


CLAIM = Claim(
    statement="For any scores, {main}; {ratio}, so larger scores have larger weights; and adding the same "
    "number to all scores changes nothing: {shift}.",
    meaning="Only differences of scores count: whether they are large or small as numbers is irrelevant. "
    "This is why programs may subtract the largest score first, and why it is the spread of the scores, and "
    "not their size, that saturates the softmax.",
)
