"""Every softmax that the sources print, to the printed digits."""

from collections.abc import Callable

import numpy as np
from sympy import Expr, Rational, S, exp, sqrt

from verify.former import (
    Allowance, Array, Claim, Control, Derivation, Exact, Experiment, Fact, Route, Step, computed, fact,
    in_single_precision, largest_difference, latex, p, prediction, s, softmax, threshold,
)  # fmt: skip
from verify.former.rules import FewKeys

EXAMPLES = ((4, 5), (1, 10), (14, 10), (7, 5))
"""The pairs of scores whose softmax is printed somewhere."""

LABEL = "softmax of two scores, first weight"
ROUNDING = Allowance(1e-15)
WEIGHT = 1 / (1 + exp(s[2] - s[1]))


def _of(weight: Expr, first: int, second: int) -> Expr:
    return weight.subs({s[1]: S(first), s[2]: S(second)})


def derive() -> Derivation:
    """Derive the weight of one of two scores from the definition."""
    rule = "Divide by the first exponential: two scores count by their difference alone"
    return Derivation.of(Route.of("Two keys", p[1], Step(WEIGHT, rule, FewKeys(2))))


def _first_weight(code: Callable[[Array], Array], first: float, second: float) -> float:
    """Return the first weight that ``code`` gives two scores."""
    return float(code(np.array([first, second]))[0])


def _scaled_distance(factor: float) -> float:
    """Return how far the printed scores times ``factor`` are from the printed scaled ones."""
    return largest_difference(factor * np.array([14.0, 10.0]), np.array([7.0, 5.0]))


def _weight_check(name: str, code: Callable[[Array], Array], pair: tuple[int, int], expected: Expr) -> Exact:
    where = {"scores": f"{pair[0]}, {pair[1]}"}
    return computed(name, LABEL, where, expected, _first_weight, code, *pair, allowance=ROUNDING)


def _scaled(name: str, factor: Expr) -> Exact:
    label = f"distance of the scores times ${latex(factor)}$ from 7, 5"
    return computed(name, label, {"scores": "14, 10", "d_k": 4}, 0, _scaled_distance, float(factor))


def _gap(name: str, most: Expr) -> Exact:
    label = "weight of the lower of two scores that differ by 4"
    where, weight = {"scores": "0, 4"}, (_first_weight, softmax, 0, 4)
    return computed(name, label, where, threshold(most), *weight, relation="≤")


def experiment(derivation: Derivation) -> Experiment:
    """Compare the closed form with arrays, and with what the sources say of it."""
    closed = {pair: _of(derivation.result, *pair) for pair in EXAMPLES}
    weights = (_weight_check(f"softmax-{a}-{b}", softmax, (a, b), closed[a, b]) for a, b in EXAMPLES)
    others = _gap("gap-of-four", Rational(1, 50)), _scaled("scaled-14-10", 1 / sqrt(S(4)))
    label, rounded = "first scaled weight, rounded to three digits", round(_first_weight(softmax, 7, 5), 3)
    printed, scores = prediction(Rational(880, 1000)), (("scores", "7, 5"),)
    misprinted = Exact("as-misprinted", label, scores, printed, rounded, code=_first_weight)
    by_ratio = _weight_check("ratio-counts", softmax, (14, 10), closed[7, 5])
    single = _weight_check("single", in_single_precision(softmax), (4, 5), closed[4, 5])
    controls = (
        Control("the first scaled weight is {value:3} to three digits", misprinted),
        Control("scores count by their ratio: {cell:scores} weigh as {softmax-7-5:scores} do", by_ratio),
        Control("single precision is exact", single),
        Control("a gap of four leaves less than a fifty-sixth", _gap("less-than-a-56th", Rational(1, 56))),
        Control("the scale is the inverse of the dimension", _scaled("over-d", 1 / S(4))),
    )
    return Experiment((*weights, *others), controls)


def facts(derivation: Derivation) -> tuple[Fact, ...]:
    """Return both weights of every printed pair."""
    weight = derivation.result
    return tuple(
        fact(f"softmax-{a}-{b}-{place}", f"{place} weight of the scores {a} and {b}", value)
        for a, b in EXAMPLES
        for place, value in (("first", _of(weight, a, b)), ("second", _of(weight, b, a)))
    )


CLAIM = Claim(
    title="The printed softmax values, recomputed",
    statement="The first of two scores has the weight {theorem:result}, and the second likewise: "
    "{softmax-4-5-first:4} and {softmax-4-5-second:4} for {softmax-4-5:scores}; {softmax-1-10-first:1} and "
    "{softmax-1-10-second:4} for {softmax-1-10:scores}; {softmax-14-10-first:3} and {softmax-14-10-second:2} "
    "for {softmax-14-10:scores}; {softmax-7-5-first:3} and {softmax-7-5-second:3} for {softmax-7-5:scores}.",
    meaning="A gap of four leaves one key less than a fiftieth of the weight; halving both scores halves "
    "the gap and gives it more than six times as much. The examples are small enough to check with a pocket "
    "calculator, and one of the printed figures turns out to be wrong.",
)
