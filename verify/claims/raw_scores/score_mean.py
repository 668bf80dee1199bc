"""E[q·k] = 0 for independent centred components."""

import math
from fractions import Fraction

from verify.former import (
    CENTRED, INDEPENDENT, NORMAL, Claim, Derivation, Experiment, Figure, Findings, Tolerance, assume, biased,
    figure, fitting, line, mean_route, means, measured, score, score_cell, wrong,
)  # fmt: skip

DIMENSIONS = (1, 8, 64, 512, 1024)
LABEL = r"$\mathbb{E}[q\cdot k]$"


def derive() -> Derivation:
    """Derive the mean by linearity and independence."""
    return Derivation.of(mean_route(score, CENTRED))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the mean; its scale is √d, the size of a typical score, because the mean itself is 0."""
    cells = [score_cell(n, NORMAL, NORMAL, tolerance) for n in DIMENSIONS]
    points = means(cells, LABEL, derivation.result, lambda n: Tolerance(0.5, math.sqrt(n), r"$\sqrt{d_k}$"))
    off_centre = NORMAL.moved(Fraction(1, 2), 1)
    shifted = score_cell(8, off_centre, off_centre, tolerance, prefix="shifted-")
    what = "the mean is {theorem:result} even for components that are not centred"
    return Experiment(points, (
        biased(fitting.in_dimension(points, 64), tolerance),
        wrong(fitting.in_dimension(points, 8), "shifted-mean", what, cell=shifted.cell, estimand=shifted.mean,
              truth=8 * 0.5**2),
    ))  # fmt: skip


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the mean as a fraction of √d with its interval and the tolerance."""
    width = findings.checks["mean-d1"].tolerance
    return figure(
        "mean-over-root",
        "Scores average to zero in every dimension",
        "The measured mean of q·k divided by the square root of d stays at zero, inside the tolerance, "
        "from {mean-d1:d_k} to {mean-d1024:d_k} dimensions.",
        "mean of {score} over {root_d}",
        line("derived: {theorem:result}", float(derivation.result)),
        line("tolerance", width, "other"),
        line("", -width, "other"),
        measured(findings.matching("mean-d*"), as_drawn=lambda n, mean: mean / math.sqrt(n)),
        y_scale="linear",
    )


CLAIM = Claim(
    title="Scores average to zero",
    statement="For independent centred components, {theorem} in every dimension.",
    meaning="Scores balance out around zero: what grows with the dimension is their spread, not their mean. "
    "Only one of the two vectors need be centred. Where neither is (say, after a ReLU), the mean "
    "grows like the dimension itself.",
    assumptions=assume(
        INDEPENDENT, centred=r"Every component has mean 0; any variance $\sigma_q^2$, $\sigma_k^2$."
    ),
)
