"""Dividing by d_k itself leaves the variance 1/d_k."""

from sympy import S

from verify.former import (
    NORMAL, STANDARD, Claim, Derivation, Experiment, Figure, Findings, Notation, biased, d, figure, fits,
    fitting, line, measured, score, score_cell, variance_route, variances, wrong, wrong_fits,
)  # fmt: skip

DIMENSIONS = (1, 4, 16, 64, 256, 1024)
LABEL = r"$\operatorname{Var}(q\cdot k/d_k)$"


def derive() -> Derivation:
    """Derive the variance of the score over the dimension."""
    return Derivation.of(variance_route(score / d, STANDARD))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the over-scaled variance over the dimensions, and its exponent."""
    cells = [score_cell(n, NORMAL, NORMAL, tolerance, scale=1 / d) for n in DIMENSIONS]
    points = variances(cells, LABEL, derivation.result)
    lines = fits(points, fitting.exponent(derivation.result), fitting.misfit("power"))
    at64 = fitting.in_dimension(points, 64)
    controls = (
        wrong(at64, "stays-at-one", "the variance stays at {value}, as after dividing by the root", 1),
        biased(at64, tolerance),
        *wrong_fits(lines, tolerance),
    )
    return Experiment((*points, *lines), controls)


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the falling variance beside the level line that the root would give."""
    return figure(
        "falling-variance",
        "Divided by the dimension itself, scores shrink away",
        "Divided by the dimension, the measured variance of the score falls like its inverse, a "
        "thousandfold at {variance-d1024:d_k} dimensions, far below the level line of the root.",
        "variance of {over_scaled}",
        line("derived", derivation.result),
        line("wrong", S.One, "control"),
        measured(findings.matching("variance-d*")),
    )


CLAIM = Claim(
    title="Dividing by the dimension itself shrinks the variance to its inverse",
    statement="For independent components with mean zero and unit variance, {theorem}.",
    meaning="Scores divided by {d_k} concentrate around zero as the dimension grows, and softmax over them "
    "approaches an even spread over all keys. (Where queries and keys are aligned rather than independent, "
    "the mean of the score grows like {d_k} itself, and this scale has its use.)",
    symbols={"over_scaled": Notation(r"q\cdot k/d_k", score / d)},
)
