"""Scores become normal as the dimension grows, at the rate 1/d_k."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from scipy import special
from sympy import (
    Derivative, Rational, S, Symbol, cos, diff, exp, integrate, log, oo, pi, series, simplify, sqrt,
)  # fmt: skip

from verify.spec import (
    INDEPENDENT, NORMAL, NORMAL_COMPONENTS, Allowance, Axis, By, Claim, Control, Definition, Derivation,
    DistanceToLaw, E, Exact, Experiment, Figure, Findings, Identity, Layer, Population, Prediction,
    Quantity, Route, ScorePairs, ScorePowers, Step, Tolerance, biased, capped, cell_of, characteristic, d,
    exponent, k, kurtosis, kurtosis_route, mean_route, measured, prediction, q, score, score_law,
)  # fmt: skip

DIMENSIONS = (1, 2, 4)
FAR = (1000, 2000)
"""Dimensions in which the distance is computed from the exact density to tell its rate."""

MIDDLE = 32
"""The dimension in which the kurtosis is measured."""

KURTOSIS = r"$\mathbb{E}[(q\cdot k)^4]/\operatorname{Var}(q\cdot k)^2$"
LABEL = r"$|P(q\cdot k \le -x\sqrt{d_k}) - \Phi(-x)|$ at $x = 0.742$"
RATE = r"exponent of $|P(q\cdot k \le -x\sqrt{d_k}) - \Phi(-x)|$ in $d_k$"

x = Symbol("x", positive=True)
_NORMAL = (S.One, S.Zero, S.One, S.Zero, S(3))
POPULATION = Population({q: _NORMAL, k: _NORMAL}, d)
WORST, SECOND = sqrt(3 - sqrt(6)), sqrt(3 + sqrt(6))
"""Where the leading term of the distance is stationary: the roots of the fourth Hermite polynomial."""

BEYOND = "what falls faster than the first-order term"
"""What the exact law in many dimensions is allowed to be away from the derived term."""

PLACES = tuple(map(float, np.linspace(0.125, 4.0, 32)))
"""Distances from 0, in standard deviations, at which the exact law is searched for its largest gap."""


def _expands_to(before: Any, after: Any) -> bool:
    """Expand d·log of the function in powers of 1/d, and exponentiate."""
    small = Symbol("epsilon", positive=True)
    exponent = log(before).expand(force=True).subs(d, 1 / small)
    exponent = series(exponent, small, 0, 2).removeO()
    ratio = series(exp(exponent + characteristic.t**2 / 2), small, 0, 2).removeO() * exp(
        -(characteristic.t**2) / 2
    )
    return bool(simplify(ratio - after.subs(d, 1 / small)) == S.Zero)


def _inverts_to(before: Any, after: Any) -> bool:
    """The cosine transform of the difference from the normal law's function, integrated over -∞…-x."""
    correction = before - exp(-(characteristic.t**2) / 2)
    density = integrate(cos(characteristic.t * x) * correction, (characteristic.t, 0, oo)) / pi
    # The law is symmetric: what lies below -x is minus the integral of the density's correction from 0.
    gained = -diff(after, x)
    return bool(simplify(density - gained) == S.Zero and after.subs(x, 0) == 0)


def _is_scaled(before: Any, after: Any) -> bool:
    return bool(simplify(log(before.subs(characteristic.t, characteristic.t / sqrt(d)) / after)) == S.Zero)


def _is_slope(before: Any, after: Any) -> bool:
    return bool(after == Derivative(before, x))


def _is_largest_at_worst(before: Any, after: Any) -> bool:
    """The slope vanishes at both roots and nowhere else, and the term is larger at the first."""
    term = before.args[0]
    sizes = [abs(term.subs(x, root)) * d for root in (WORST, SECOND)]
    zero = all(simplify(after.subs(x, root)) == S.Zero for root in (WORST, SECOND))
    return bool(simplify(before.doit() - after) == S.Zero and zero and sizes[0] > sizes[1])


def _where_largest(tail: Any) -> Route:
    """Return the slope of the first-order term, factored so that it shows where the term is largest."""
    slope = exp(-(x**2) / 2) / (4 * d * sqrt(2 * pi)) * (x**2 - WORST**2) * (SECOND**2 - x**2)
    steps = (
        Step(
            Derivative(tail, x),
            "How it changes with the place",
            By("the derivative of the term above", _is_slope, "general"),
            "⇒",
        ),
        Step(
            slope,
            r"so the term is largest in size at $x = \sqrt{3 - \sqrt 6} \approx 0.742$",
            By("SymPy differentiates, and compares the sizes at both roots", _is_largest_at_worst, "general"),
        ),
    )
    return Route("Where that first-order term is largest", tail, steps)


def derive() -> Derivation:
    """Derive skewness and kurtosis by moments, and the distance from the characteristic function."""
    fourth = kurtosis_route(POPULATION)
    route = Route(
        fourth.title,
        fourth.start - 3,
        (
            *(Step(step.expression - 3, step.rule, step.check) for step in fourth.steps[:-1]),
            Step(6 / d, "Collecting powers of the dimension", Identity()),
        ),
    )
    scaled = characteristic.OF_SCORE.subs(characteristic.t, characteristic.t / sqrt(d))
    leading = exp(-(characteristic.t**2) / 2) * (1 + characteristic.t**4 / (4 * d))
    tail = (x**3 - 3 * x) * exp(-(x**2) / 2) / sqrt(2 * pi) / (4 * d)
    distance = Route(
        r"Distance to the normal law, to first order in $1/d_k$",
        characteristic.START,
        (
            *characteristic.STEPS,
            Step(
                scaled,
                r"The same of $q\cdot k/\sqrt{d_k}$: $t/\sqrt{d_k}$ in the place of $t$",
                By("SymPy puts it in", _is_scaled, "general"),
                relation="⇒",
            ),
            Step(
                leading,
                r"Expanded in $1/d_k$",
                By("SymPy: series of its logarithm in 1/d", _expands_to, "general"),
                relation="⇒",
            ),
            Step(
                tail,
                r"What is added to $P(q\cdot k/\sqrt{d_k} \le -x)$, $x > 0$",
                By("SymPy: cosine transform of the correction", _inverts_to, "general"),
                relation="⇒",
            ),
        ),
    )
    skewness = mean_route(score**3, POPULATION, "Skewness: the third moment vanishes")
    lemmas = (distance, _where_largest(tail), skewness)
    return Derivation(
        E(score**4) / E(score**2) ** 2 - 3,
        6 / d,
        (route,),
        lemmas=lemmas,
        definitions=(
            characteristic.DEFINITION,
            Definition(E(score**3), "the third moment of a score, whose mean is 0"),
        ),
        beyond="that the distance is its first-order term but for what falls faster than $1/d_k$: the "
        "remainder is not bounded, but computed from the exact law in high dimensions.",
    )


@cache
def _gap(dimension: int, place: float = float(WORST)) -> float:
    """Return how far the exact law is from the normal one, so many standard deviations below 0."""
    return abs(score_law.below(dimension, -place * dimension**0.5) - float(special.ndtr(-place)))


def _largest_gap(dimension: int) -> float:
    """Return the largest of the exact law's distances from the normal one."""
    return max(_gap(dimension, place) for place in PLACES)


def _rate() -> float:
    """Return the exponent of the exact law's distance between the two high dimensions."""
    near, far = (_gap(n) for n in FAR)
    return float(np.log(far / near) / np.log(FAR[1] / FAR[0]))


def _leading(derivation: Derivation, dimension: int, place: Any = WORST) -> Any:
    return abs(derivation.lemmas[0].end.subs({x: place, d: dimension}))


def _distance(dimension: int, name: str, expected: Prediction, tolerance: Tolerance) -> Quantity:
    point = float(WORST) * dimension**0.5
    cell = cell_of(f"pairs-d{dimension}", ScorePairs(dimension, 64, NORMAL, NORMAL, (-point,)))
    normal = DistanceToLaw((float(special.ndtr(-float(WORST))),))
    return Quantity(name, LABEL, cell, normal, expected, tolerance)


def _kurtosis(derivation: Derivation, tolerance: float) -> Quantity:
    cell = cell_of(f"powers-d{MIDDLE}", ScorePowers(MIDDLE, 64, NORMAL, NORMAL, (2, 4)))
    expected = prediction(3 + derivation.result.subs(d, MIDDLE))
    return Quantity(f"kurtosis-d{MIDDLE}", KURTOSIS, cell, kurtosis(), expected, capped(1.0, tolerance))


def _from_exact_law(derivation: Derivation) -> tuple[tuple[Exact, ...], tuple[Control, ...]]:
    """Return what is computed from the exact law in many dimensions, and wrong versions of each."""
    near, far = FAR
    span = (("from", near), ("to", far))

    def rate(name: str, expected: Any) -> Exact:
        return Exact(name, RATE, span, prediction(expected), _rate(), Allowance(0.005, BEYOND), code=_rate)

    def leading(name: str, expected: Any) -> Exact:
        allowed = Allowance(0.005 * _gap(far), BEYOND)
        label = "the same distance, from the exact law"
        return Exact(name, label, (("d_k", far),), prediction(expected), _gap(far), allowed, code=_gap)

    def largest(name: str, expected: Any) -> Exact:
        found = _largest_gap(near)
        allowed = Allowance(0.005 * found, BEYOND)
        label = f"largest gap from the normal law at {len(PLACES)} points, from the exact law"
        settings = (("d_k", near),)
        return Exact(name, label, settings, prediction(expected), found, allowed, code=_largest_gap)

    checks = (
        rate("rate", exponent(derivation.lemmas[0].end).expected),
        leading("leading-term", _leading(derivation, far)),
        largest("largest-gap", _leading(derivation, near)),
    )
    controls = (
        Control(
            r"the distance shrinks like $1/\sqrt{d_k}$, as it does for sums of skewed terms",
            rate("root-rate", -S.Half),
        ),
        Control(
            "the first-order term is larger by 1%",
            leading("larger-term", _leading(derivation, far) * Rational(101, 100)),
        ),
        Control(
            "the gap is largest where the slope vanishes for the second time",
            largest("largest-at-second", _leading(derivation, near, SECOND)),
        ),
    )
    return checks, controls


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the distance in few dimensions, and tell its rate from the exact law in many."""
    band = capped(5.0, tolerance)
    distances = tuple(
        _distance(n, f"distance-d{n}", Prediction(_gap(n), f"{_gap(n):.5f}"), band) for n in DIMENSIONS
    )
    computed, wrongly_computed = _from_exact_law(derivation)
    one = distances[0]
    fourth = _kurtosis(derivation, tolerance)
    controls = (
        Control(
            "scores of 32 dimensions have the kurtosis of a normal law, 3",
            replace(fourth, id="mesokurtic", prediction=prediction(S(3))),
            truth=fourth.prediction.value,
        ),
        Control(
            "a score of one dimension is normal",
            _distance(1, "normal-at-once", prediction(S.Zero), Tolerance(1.0, 1.0, "a probability of 1")),
        ),
        Control(
            "the first-order term is exact already in one dimension",
            Quantity(
                "first-order-is-exact",
                LABEL,
                one.cell,
                one.estimand,
                prediction(_leading(derivation, 1)),
                band,
            ),
            truth=_gap(1),
        ),
        *wrongly_computed,
        biased(fourth, tolerance),
    )
    return Experiment((*distances, fourth, *computed), controls)


def figures(derivation: Derivation, findings: Findings) -> tuple[Figure, ...]:
    """Draw the distance over the dimension on the line of its first-order term."""
    drawn = (1, 2, 4, 8, 16, 32, 64, 128, 256)
    checks = [findings.checks[f"distance-d{n}"] for n in DIMENSIONS]
    return (
        Figure(
            id="distance",
            title=r"Scores approach the normal law like $1/d_k$",
            alt="The exact distance of a score's law from the normal law, at 0.742 standard deviations, "
            "falls from eight hundredths in one dimension and soon follows a line of slope minus one; "
            "measured values lie on it.",
            x=Axis(label="dimension $d_k$", scale="log"),
            y=Axis(label="distance to the normal law at $x = 0.742$", scale="log"),
            layers=(
                Layer(
                    kind="line",
                    role="truth",
                    label="exact law",
                    x=drawn,
                    y=tuple(_gap(n) for n in drawn),
                ),
                Layer(
                    kind="line",
                    role="other",
                    label="first order",
                    x=(drawn[0], drawn[-1]),
                    y=tuple(float(_leading(derivation, n)) for n in (drawn[0], drawn[-1])),
                ),
                measured(checks, "measured"),
            ),
        ),
    )


CLAIM = Claim(
    title="Scores become normal as the dimension grows",
    statement=r"For independent standard normal components, $q\cdot k$ has skewness 0 and excess kurtosis "
    r"$6/d_k$. For $x > 0$, $P(q\cdot k \le -x\sqrt{d_k})$ differs from $\Phi(-x)$ by $(x^3 - "
    r"3x)\,e^{-x^2/2} / (4\sqrt{2\pi}\,d_k)$ to first order in $1/d_k$: the distance to the normal law "
    r"shrinks like $1/d_k$, not like the usual $1/\sqrt{d_k}$.",
    meaning="At the usual 64 dimensions a scaled score is normal for most purposes: the chance to lie below "
    "any given value is off by about two thousandths at most, that to lie between two values by twice as "
    "much. Formulas that take scores as normal are approximations of this quality, worse in few dimensions "
    "and, relative to what is left there, in the far tails.",
    assumptions=(INDEPENDENT, NORMAL_COMPONENTS),
    derive=derive,
    experiment=experiment,
    figures=figures,
)
