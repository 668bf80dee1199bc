"""What holds for every softmax: sum, shift, order, ratio."""

from collections.abc import Callable

import numpy as np
from scipy import special
from sympy import S, Sum, Symbol, exp

from verify.former import (
    Array, Claim, Control, Derivation, Exact, Experiment, Route, Step, i, in_single_precision,
    largest_difference, loops, n, no_distance, p, s, softmax, stream,
)  # fmt: skip
from verify.former.rules import SumIdentity

Softmax = Callable[[Array], Array]
ROWS, KEYS = 64, 50
SIZES = (0.1, 1.0, 30.0, 1000.0)
"""Standard deviations of the scores drawn for the comparisons of arrays."""
LABELS = {
    "sum": "largest distance of a row's sum from one",
    "ratio": "largest distance of a weight from the row's largest times the exponential of their difference",
    "shift": "largest change by adding a hundred to all scores",
    "library": "largest distance from SciPy's softmax",
}
"""The identities by name, and what says how far array code is from them."""

a = Symbol("a", real=True)


def derive() -> Derivation:
    """Derive that the weights sum to one; ratio, order and shift as lemmas."""
    shifted = exp(s[1] + a) / Sum(exp(s[i] + a), (i, 1, n))
    one = Step(S.One, "Numerators and denominator are the same sum", SumIdentity())
    difference = Step(exp(s[1] - s[2]), "The common denominator cancels", SumIdentity())
    same = Step(p[1], "It cancels from numerator and denominator", SumIdentity())
    whole = Route.of("The weights sum to one", Sum(p[i], (i, 1, n)), one)
    ratio = Route.of("The ratio of two weights: larger scores have larger weights", p[1] / p[2], difference)
    shift = Route.of(r"Add any number $a$ to all scores", shifted, same)
    ratio = ratio.defining("the ratio of two weights").called("ratio")
    shift = shift.defining("the first weight of the shifted scores").called("shift")
    return Derivation.of(whole, lemmas=(ratio, shift))


def _distances(code: Softmax, scores: Array) -> dict[str, float]:
    """Return how far ``code`` is from each identity, and from SciPy's softmax."""
    weights = code(scores)
    largest = np.argmax(scores, axis=1, keepdims=True)
    leads = scores - np.take_along_axis(scores, largest, axis=1)
    return {
        "sum": largest_difference(weights.sum(axis=1), np.ones(len(scores))),
        "ratio": largest_difference(weights, np.take_along_axis(weights, largest, axis=1) * np.exp(leads)),
        "shift": largest_difference(code(scores + 100), weights),
        "library": largest_difference(weights, special.softmax(scores, axis=1)),
    }


def _held(what: str, name: str, code: Softmax, size: float) -> Exact:
    """Return how far ``code`` is from one of the identities, at scores of this standard deviation."""
    scores = size * stream(0, "softmax-identities", f"scores-{size:g}", 0).normal(size=(ROWS, KEYS))
    settings = (("rows", ROWS), ("keys", KEYS), ("sigma", size))
    return no_distance(name, LABELS[what], settings, _distances(code, scores)[what], _distances)


def experiment() -> Experiment:
    """Hold the array code against the identities, for small and for huge scores."""
    at = {size: f"at-{size:g}".replace(".", "-") for size in SIZES}
    checks = (_held(what, f"{what}-{at[size]}", softmax, size) for size in SIZES for what in LABELS)
    single = in_single_precision(softmax)
    wrong: tuple[tuple[str, str, Softmax, str], ...] = (
        ("sum", "divided-by-n", lambda scores: np.exp(scores) / KEYS,
         "the number of keys will do in place of the sum"),
        ("ratio", "ratio-of-halves", loops.of_halves, "a factor on all scores cancels as a shift does"),
        ("shift", "squares-for-exponentials", lambda scores: scores**2 / np.sum(scores**2, 1, keepdims=True),
         "squares will do in place of the exponentials"),
        ("shift", "size-saturates", lambda scores: softmax(scores * np.abs(scores.mean(1, keepdims=True))),
         "scores far from zero saturate, whatever their differences"),
        ("library", "over-rows", loops.over_queries, "the weights may sum to one over the rows"),
        *((what, f"{what}-in-single-precision", single, f"single precision is exact: {label}")
          for what, label in LABELS.items()),
    )  # fmt: skip
    controls = (Control(words, _held(what, name, code, 1.0)) for what, name, code, words in wrong)
    return Experiment(tuple(checks), tuple(controls))


CLAIM = Claim(
    title="What holds for every softmax",
    statement="For any scores, {theorem}; {ratio}, so larger scores have larger weights; and adding the same "
    "number to all scores changes nothing: {shift}.",
    meaning="Only differences of scores count: whether they are large or small as numbers is irrelevant. "
    "This is why programs may subtract the largest score first, and why it is the spread of the scores, and "
    "not their size, that saturates the softmax.",
)
