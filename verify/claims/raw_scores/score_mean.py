"""E[q·k] = 0 for independent centred components."""

from __future__ import annotations

import math
from fractions import Fraction

from sympy import S

from verify.spec import (
    CENTRED, INDEPENDENT, NORMAL, Assumption, Claim, Control, Derivation, E, Experiment, Figure, Findings,
    Quantity, Tolerance, against_dimension, biased, curve, d, function, mean_route, measured, prediction,
    score, score_cell,
)  # fmt: skip

DIMENSIONS = (1, 8, 64, 512, 1024)
LABEL = r"$\mathbb{E}[q\cdot k]$"


def derive() -> Derivation:
    """Derive the mean by linearity and independence."""
    route = mean_route(score, CENTRED)
    return Derivation(E(score), route.end, (route,))


def _scale(n: int) -> Tolerance:
    return Tolerance(0.5, math.sqrt(n), r"$\sqrt{d_k}$")


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the mean; its scale is √d, the size of a typical score, because the mean itself is 0."""
    cells = [score_cell(n, NORMAL, NORMAL, tolerance) for n in DIMENSIONS]
    points = tuple(
        Quantity(
            f"mean-d{c.d}", LABEL, c.cell, c.mean, prediction(derivation.result.subs(d, c.d)), _scale(c.d)
        )
        for c in cells
    )
    off_centre = NORMAL.moved(Fraction(1, 2), 1)
    shifted = score_cell(8, off_centre, off_centre, tolerance, prefix="shifted-")
    controls = (
        biased(points[DIMENSIONS.index(64)], tolerance),
        Control(
            "the mean is 0 also for components that are not centred",
            Quantity("shifted-mean", LABEL, shifted.cell, shifted.mean, prediction(S.Zero), _scale(8)),
            truth=8 * 0.5**2,
        ),
    )
    return Experiment(points, controls)


def figures(derivation: Derivation, findings: Findings) -> tuple[Figure, ...]:
    """Draw the mean as a fraction of √d with its interval and the tolerance."""
    ordered = [findings.checks[f"mean-d{n}"] for n in DIMENSIONS]
    relative = [
        check.model_copy(
            update={
                "estimate": check.estimate / math.sqrt(n),
                "interval": (check.interval[0] / math.sqrt(n), check.interval[1] / math.sqrt(n)),
            }
        )
        for check, n in zip(ordered, DIMENSIONS, strict=True)
    ]
    span = (DIMENSIONS[0], DIMENSIONS[-1])
    width = ordered[0].tolerance
    return (
        against_dimension(
            "mean-over-root",
            "Scores average to zero in every dimension",
            "The measured mean of q·k divided by the square root of d stays at zero, inside the tolerance, "
            "from one to 1024 dimensions.",
            r"mean of $q\cdot k$ over $\sqrt{d_k}$",
            (
                curve("derived: 0", "truth", function((d,), derivation.result), span),
                curve("tolerance", "other", lambda _: width, span),
                curve("", "other", lambda _: -width, span),
                measured(relative, "measured"),
            ),
            y_scale="linear",
        ),
    )


CLAIM = Claim(
    title="Scores average to zero",
    statement=r"For independent centred components, $\mathbb{E}[q\cdot k] = 0$ in every dimension.",
    meaning=(
        "Scores balance out around zero: what grows with the dimension is their spread, "
        "not their mean. It takes only one of the two vectors to be centred. Where neither is (say, after a "
        "ReLU), the mean grows like the dimension itself."
    ),
    assumptions=(
        INDEPENDENT,
        Assumption(
            id="centred", text=r"Every component has mean 0; any variance $\sigma_q^2$, $\sigma_k^2$."
        ),
    ),
    derive=derive,
    experiment=experiment,
    figures=figures,
)
