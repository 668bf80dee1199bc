"""What holds for every softmax: sum, shift, order, ratio."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special
from sympy import S, Sum, Symbol, exp

from verify.claim import Claim
from verify.designs import prediction
from verify.evidence import Assumption
from verify.montecarlo.attention import softmax
from verify.montecarlo.experiment import Allowance, Control, Exact, Experiment
from verify.montecarlo.streams import stream
from verify.symbolic.derivation import Derivation, Route, Step
from verify.symbolic.softmax import WrittenOut, i, n, p, s

SIZES = (0.1, 1.0, 30.0, 1000.0)
"""Standard deviations of the scores drawn for the comparisons of arrays."""

a = Symbol("a", real=True)


def derive() -> Derivation:
    """Derive that the weights sum to one; ratio, order and shift as lemmas."""
    total = Sum(p[i], (i, 1, n))
    whole = Route(
        "The weights sum to one",
        total,
        (Step(S.One, "Numerators and denominator are the same sum", WrittenOut()),),
    )
    ratio = Route(
        "The ratio of two weights: larger scores have larger weights",
        p[1] / p[2],
        (Step(exp(s[1] - s[2]), "The common denominator cancels", WrittenOut()),),
    )
    shift = Route(
        r"Add any number $a$ to all scores",
        exp(s[1] + a) / Sum(exp(s[i] + a), (i, 1, n)),
        (Step(p[1], "It cancels from numerator and denominator", WrittenOut()),),
    )
    return Derivation(total, S.One, (whole,), lemmas=(ratio, shift))


def _drawn(size: float) -> Any:
    return size * stream(0, "softmax-identities", f"scores-{size:g}", 0).normal(size=(64, 50))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:  # noqa: ARG001  # nothing is tolerated
    """Hold the array code against the identities, for small and for huge scores."""
    checks = []
    for size in SIZES:
        drawn = _drawn(size)
        weights = softmax(drawn)
        name = f"{size:g}".replace(".", "-")
        settings = (("rows", 64), ("keys", 50), ("sigma", size))
        found = {
            "sum": ("largest distance of a row's sum from 1", np.abs(weights.sum(axis=1) - 1).max()),
            "shift": (
                "largest change by adding 100 to all scores",
                np.abs(softmax(drawn + 100) - weights).max(),
            ),
            "library": (
                "largest distance from SciPy's softmax",
                np.abs(special.softmax(drawn, axis=1) - weights).max(),
            ),
        }
        checks += [
            Exact(
                f"{what}-at-{name}",
                label,
                settings,
                prediction(S.Zero),
                float(value),
                allowance=Allowance(1e-12),
            )
            for what, (label, value) in found.items()
        ]
    drawn = _drawn(1.0)
    doubled = float(np.abs(softmax(2 * drawn) - softmax(drawn)).max())
    clipped = np.exp(drawn - drawn.max()) / 50
    controls = (
        Control(
            "a factor on all scores cancels as a shift does",
            Exact(
                "scale-invariant",
                "largest change by doubling all scores",
                (("sigma", 1.0),),
                prediction(S.Zero),
                doubled,
                allowance=Allowance(1e-12),
            ),
        ),
        Control(
            "dividing by the number of keys will do in place of the sum",
            Exact(
                "divided-by-n",
                "largest distance of a row's sum from 1",
                (("sigma", 1.0),),
                prediction(S.Zero),
                float(np.abs(clipped.sum(axis=1) - 1).max()),
                allowance=Allowance(1e-12),
            ),
        ),
    )
    return Experiment(tuple(checks), controls)


CLAIM = Claim(
    id="softmax-identities",
    order=20,
    title="What holds for every softmax",
    statement=(
        r"For any scores, the weights sum to one; $p_i/p_j = e^{s_i - s_j}$, so larger scores have larger "
        r"weights; and adding the same number to all scores changes nothing."
    ),
    meaning=(
        "Only differences of scores count: whether they are large or small as numbers is irrelevant. This "
        "is why "
        "programs may subtract the largest score first, and why it is the spread of the scores, and not "
        "their size, that saturates the softmax."
    ),
    assumptions=(Assumption(id="finite", text="The scores are finite numbers."),),
    references=(),
    derive=derive,
    experiment=experiment,
)
