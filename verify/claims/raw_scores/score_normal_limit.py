"""Scores become normal as the dimension grows, at the rate 1/d_k."""

from functools import cache

import numpy as np
from scipy import special
from sympy import Derivative, Expr, Integral, Rational, S, Symbol, erf, exp, oo, pi, sign, sqrt

from verify.former import (
    E, NORMAL, NORMAL_MOMENTS, Allowance, Claim, Control, Derivation, DistanceToLaw, Exact, Experiment,
    Figure, Findings, PairShares, Population, Prediction, Quantity, Route, ScorePowers, Simulated, Step,
    biased, capped, cell_of, characteristic, computed, d, figure, fitting, k, kurtosis, kurtosis_route, line,
    mean_route, measured, of_probability, one_step, prediction, q, score, score_law, wrong,
)  # fmt: skip
from verify.former.rules import (
    AboutTheMean, Compared, GaussIntegrals, Identity, NormalGiven, SplitAt, exceeds, normal_density,
)  # fmt: skip

DIMENSIONS = (1, 2, 4)
NEAR, FAR = 1000, 2000
"""Dimensions in which the distance is computed from the exact density to tell its rate."""

MIDDLE = 32
"""The dimension in which the kurtosis is measured."""

KURTOSIS = r"$\mathbb{E}[(q\cdot k)^4]/\operatorname{Var}(q\cdot k)^2$"
LABEL = r"$|P(q\cdot k \le -x\sqrt{d_k}) - \Phi(-x)|$ at $x = 0.742$"
RATE = r"exponent of $|P(q\cdot k \le -x\sqrt{d_k}) - \Phi(-x)|$ in $d_k$"

x = Symbol("x", positive=True)
POPULATION = Population({q: NORMAL_MOMENTS, k: NORMAL_MOMENTS}, d, normal=(q, k))
WORST, SECOND = sqrt(3 - sqrt(6)), sqrt(3 + sqrt(6))
"""Where the leading term of the distance is stationary: the roots of the fourth Hermite polynomial."""

BEYOND = "what falls faster than the first-order term"
"""What the exact law in many dimensions is allowed to be away from the derived term."""

PLACES = tuple(map(float, np.linspace(0.125, 4.0, 32)))
"""Distances from 0, in standard deviations, at which the exact law is searched for its largest gap."""


def derive() -> Derivation:
    """Derive skewness and kurtosis by moments, and the distance by the query's squared length."""
    fourth = kurtosis_route(POPULATION)
    route = Route.of(
        fourth.title,
        fourth.start - 3,
        *(Step(step.expression - 3, step.words, step.rule) for step in fourth.steps[:-1]),
        Step(6 / d, "Collecting powers of the dimension", Identity()),
    )
    v, y, place, normal = characteristic.v, characteristic.y, -x * sqrt(d), (1 - erf(x / sqrt(2))) / 2
    of_normal = normal_density(y, v)
    given = Route.of(
        "A normal number of variance v", Integral((1 + sign(place - y)) / 2 * of_normal, (y, -oo, oo)),
        Step(Integral(of_normal, (y, -oo, place)), "Where it is below", SplitAt(y, place)),
        Step((1 - erf(x * sqrt(d) / sqrt(2 * v))) / 2, "Integrated", GaussIntegrals(y)),
    )  # fmt: skip
    tail = (x**3 - 3 * x) * exp(-(x**2) / 2) / sqrt(2 * pi) / (4 * d)
    distance = Route.of(
        "Distance to the normal law, to first order in $1/d_k$", exceeds(place, score) - normal,
        Step(E((1 - erf(x * sqrt(d) / sqrt(2 * score_law.SQUARES))) / 2) - normal,
             "Given the query a score is normal, its variance the query’s squared length",
             NormalGiven(POPULATION, k, score, given.proved(), v)),
        Step(tail, "That is the mean of many squares: expanded about its own mean",
             AboutTheMean(POPULATION, score_law.SQUARES, Symbol("U", positive=True))),
        defines=r"what is added to $P(q\cdot k/\sqrt{d_k} \le -x)$, $x > 0$", name="distance",
    )  # fmt: skip
    slope = exp(-(x**2) / 2) / (4 * d * sqrt(2 * pi)) * (x**2 - WORST**2) * (SECOND**2 - x**2)
    level = one_step("Where that first-order term is level", Derivative(tail, x), slope,
                     r"at $x = \sqrt{3 - \sqrt 6} \approx 0.742$ and at $\sqrt{3 + \sqrt 6}$", Identity(),
                     defines="how the first-order term changes with the place")  # fmt: skip
    largest = one_step("Where it is largest in size", tail.subs(x, SECOND), -tail.subs(x, WORST),
                       "At the first of the two it is larger in size", Compared("<"),
                       defines="the first-order term at the second")  # fmt: skip
    skewness = mean_route(score**3, POPULATION, "Skewness: the third moment vanishes")
    skewness = skewness.defining("the third moment of a score, whose mean is 0").called("third")
    return Derivation.of(route, lemmas=(distance, level, largest, skewness))


@cache
def _gap(dimension: int, place: float = float(WORST)) -> float:
    """Return how far the exact law is from the normal one, a number of standard deviations below 0."""
    return abs(score_law.below(dimension, -place * dimension**0.5) - float(special.ndtr(-place)))


def _largest_gap(dimension: int) -> float:
    """Return the largest of the exact law's distances from the normal one."""
    return max(_gap(dimension, place) for place in PLACES)


def _rate() -> float:
    """Return the exponent of the exact law's distance between the two high dimensions."""
    return float(np.log(_gap(FAR) / _gap(NEAR)) / np.log(FAR / NEAR))


def _leading(derivation: Derivation, dimension: int, place: Expr = WORST) -> Expr:
    return abs(derivation.lemmas[0].end.subs({x: place, d: dimension}))


def _measured(dimension: int, tolerance: float) -> Quantity:
    """Return the comparison of the distance in a few dimensions with that of the exact law."""
    point, gap = float(WORST) * dimension**0.5, _gap(dimension)
    drawn = Simulated(NORMAL, NORMAL, 64, 64, dimension)
    cell = cell_of(f"pairs-d{dimension}", drawn, PairShares((-point,)))
    normal = DistanceToLaw((float(special.ndtr(-float(WORST))),))
    expected = Prediction(gap, f"{gap:.5f}")
    wide = capped(5.0, tolerance, "it is a small difference of two larger probabilities")
    return Quantity(f"distance-d{dimension}", LABEL, cell, normal, expected, wide)


def _from_exact_law(derivation: Derivation) -> tuple[tuple[Exact, ...], tuple[Control, ...]]:
    """Return what is computed from the exact law in many dimensions, and wrong versions of each."""
    first, second = _leading(derivation, FAR), _leading(derivation, NEAR, SECOND)
    of_rate, of_gap, of_largest = (
        Allowance(0.005 * size, BEYOND) for size in (1, _gap(FAR), _largest_gap(NEAR))
    )
    power = fitting.exponent(derivation.lemmas[0].end).expected
    rate = computed("rate", RATE, {"from": NEAR, "to": FAR}, power, _rate, allowance=of_rate)
    same = "the same distance, from the exact law"
    leading = computed("leading-term", same, {"d_k": FAR}, first, _gap, FAR, allowance=of_gap)
    label = f"largest gap from the normal law at {len(PLACES)} points, from the exact law"
    at_worst = _leading(derivation, NEAR), _largest_gap, NEAR
    largest = computed("largest-gap", label, {"d_k": NEAR}, *at_worst, allowance=of_largest)
    controls = (
        wrong(rate, "root-rate",
              "the distance shrinks as the inverse of {root_d}, as for sums of skewed terms", -S.Half),
        wrong(leading, "larger-term", "its first order is one per cent larger", first * Rational(101, 100)),
        wrong(largest, "largest-at-second",
              "the gap is largest where the slope vanishes for the second time", second),
    )  # fmt: skip
    return (rate, leading, largest), controls


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the distance in few dimensions, and tell its rate from the exact law in many."""
    distances = tuple(_measured(n, tolerance) for n in DIMENSIONS)
    one = distances[0]
    powers = cell_of(f"powers-d{MIDDLE}", Simulated(NORMAL, NORMAL, 64, 64, MIDDLE), ScorePowers((2, 4)))
    expected = prediction(3 + derivation.result.subs(d, MIDDLE))
    fourth = Quantity(f"kurtosis-d{MIDDLE}", KURTOSIS, powers, kurtosis(), expected, capped(1.0, tolerance))
    checks, controls = _from_exact_law(derivation)
    controls = (
        wrong(fourth, "mesokurtic", "in {cell:d_k} dimensions scores have a normal kurtosis, {value}", 3),
        wrong(one, "normal-at-once", "a score of one dimension is normal", 0, tolerance=of_probability(),
              truth=None),
        wrong(one, "first-order-is-exact", "the first-order term is exact already in one dimension",
              _leading(derivation, 1)),
        *controls,
        biased(fourth, tolerance),
    )  # fmt: skip
    return Experiment((*distances, fourth, *checks), controls)


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the distance over the dimension on the line of its first-order term."""
    drawn = (1, 2, 4, 8, 16, 32, 64, 128, 256)
    ends = drawn[0], drawn[-1]
    return figure(
        "distance",
        "Scores approach the normal law like the inverse of the dimension",
        "The exact distance of a score's law from the normal law, where its first-order term is largest, "
        "falls from eight hundredths in one dimension and soon follows a line of slope minus one; "
        "measured values lie on it.",
        "distance to the normal law, where its first order is largest",
        line("exact law", [_gap(n) for n in drawn], at=drawn),
        line("first order", [_leading(derivation, n) for n in ends], "other", at=ends),
        measured(findings.matching("distance-d*")),
    )


CLAIM = Claim(
    title="Scores become normal as the dimension grows",
    statement="For independent standard normal components, {score} has the third moment {third:result} and "
    "the excess kurtosis {theorem:result}. For positive {x}, the probability that it lies {x} standard "
    "deviations or more below zero differs from a normal number’s by {distance:result} to first order in the "
    "inverse of {d_k}: the distance to the normal law shrinks like this inverse, not like the usual "
    "inverse of {root_d}.",
    meaning="At the usual sixty-four dimensions a scaled score is normal for most purposes: the "
    "probability of lying below any given value is off by about two thousandths at most, that of lying "
    "between two values by twice as much. Formulas that take scores as normal are approximations of this "
    "quality, worse in few dimensions and, relative to what is left there, in the far tails.",
    symbols={"x": x},
)
