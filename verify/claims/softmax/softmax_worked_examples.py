"""Every softmax that the sources print, to the printed digits."""

from __future__ import annotations

from typing import Any

import numpy as np
from sympy import Rational, S, exp, simplify, sqrt

from verify.claim import Claim
from verify.designs import fact, prediction, threshold
from verify.evidence import Assumption, Fact
from verify.montecarlo.attention import softmax
from verify.montecarlo.experiment import Allowance, Control, Exact, Experiment
from verify.symbolic.derivation import By, Derivation, Route, Step
from verify.symbolic.softmax import WrittenOut, p, s

EXAMPLES = ((4, 5), (1, 10), (14, 10), (7, 5))
"""The pairs of scores whose softmax is printed somewhere."""

LABEL = "softmax of two scores, first weight"


def _over_the_second(before: Any, after: Any) -> bool:
    """For exact integer scores the closed form equals exp(a)/(exp(a) + exp(b)), with no rounding."""
    return WrittenOut((2,)).holds(before, after) and all(
        simplify(_weight(a, b) - exp(S(a)) / (exp(S(a)) + exp(S(b)))) == 0 for a, b in EXAMPLES
    )


def _weight(a: int, b: int) -> Any:
    return 1 / (1 + exp(S(b) - S(a)))


def derive() -> Derivation:
    """Derive the weight of one of two scores from the definition."""
    step = Step(
        1 / (1 + exp(s[2] - s[1])),
        "Divide by the first exponential: two scores count by their difference alone",
        By("SymPy, written out for two keys and for the printed scores", _over_the_second, "general"),
    )
    return Derivation(p[1], step.expression, (Route("Two keys", p[1], (step,)),))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:  # noqa: ARG001  # nothing is tolerated
    """Compare the closed form with arrays, and with what the sources say of it."""
    checks = [
        Exact(
            f"softmax-{a}-{b}",
            LABEL,
            (("scores", f"{a}, {b}"),),
            prediction(derivation.result.subs({s[1]: a, s[2]: b})),
            float(softmax(np.array([a, b], dtype=float))[0]),
            allowance=Allowance(1e-15),
        )
        for a, b in EXAMPLES
    ]
    gap = Exact(
        "gap-of-four",
        "weight of the lower of two scores that differ by 4",
        (("scores", "4, 0"),),
        threshold(Rational(1, 50)),
        float(softmax(np.array([4.0, 0.0]))[1]),
        relation="≤",
    )
    halved = np.array([14.0, 10.0]) / 4**0.5
    scaled = Exact(
        "scaled-14-10",
        "distance of the scaled scores from 7, 5",
        (("scores", "14, 10"), ("d_k", 4)),
        prediction(abs(14 / sqrt(S(4)) - 7) + abs(10 / sqrt(S(4)) - 5)),
        float(np.abs(halved - [7.0, 5.0]).sum()),
    )
    weights = softmax(halved)
    controls = (
        Control(
            "the scaled weights are 0.880 and 0.120 to three digits",
            Exact(
                "as-misprinted",
                "first scaled weight, rounded to three digits",
                (("scores", "7, 5"),),
                prediction(Rational(880, 1000)),
                round(float(weights[0]), 3),
            ),
        ),
        Control(
            "scores count by their ratio: 14 and 10 weigh as 7 and 5 do",
            Exact(
                "ratio-counts",
                LABEL,
                (("scores", "14, 10"),),
                prediction(_weight(7, 5)),
                float(softmax(np.array([14.0, 10.0]))[0]),
                allowance=Allowance(1e-12),
            ),
        ),
    )
    return Experiment((*checks, gap, scaled), controls)


def facts(derivation: Derivation) -> tuple[Fact, ...]:
    """Return both weights of every printed pair."""
    found = []
    for a, b in EXAMPLES:
        first = derivation.result.subs({s[1]: a, s[2]: b})
        second = derivation.result.subs({s[1]: b, s[2]: a})
        for place, weight in (("first", first), ("second", second)):
            found.append(
                fact(f"softmax-{a}-{b}-{place}", f"{place} weight of the scores {a} and {b}", weight)
            )
    return tuple(found)


CLAIM = Claim(
    id="softmax-worked-examples",
    order=10,
    title="The printed softmax values, recomputed",
    statement=(
        r"Two scores $a$ and $b$ have the weights $1/(1 + e^{b - a})$ and $1/(1 + e^{a - b})$: 0.2689 and "
        r"0.7311 for 4 "
        "and 5, 0.0001 and 0.9999 for 1 and 10, 0.982 and 0.018 for 14 and 10, 0.881 and 0.119 for 7 and 5."
    ),
    meaning=(
        "A gap of 4 leaves one key less than a fiftieth of the weight; halving both scores halves the gap "
        "and gives it "
        "six times as much. The examples are small enough to check with a pocket calculator, and one of "
        "the printed figures does not survive that."
    ),
    assumptions=(Assumption(id="printed", text="The scores are the ones that the sources print."),),
    references=(),
    derive=derive,
    experiment=experiment,
    facts=facts,
)
