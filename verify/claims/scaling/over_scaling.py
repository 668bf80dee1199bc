"""Dividing by d_k itself leaves the variance 1/d_k."""

from __future__ import annotations

from sympy import S

from verify.spec import (
    NORMAL, STANDARD, STANDARD_COMPONENTS, Claim, Control, Derivation, Experiment, Figure, Findings,
    Quantity, Var, against_dimension, biased, d, exponent, fits, formula, measured, misfit, prediction,
    score, score_cell, variance_route, variances, wrong_fits,
)  # fmt: skip

DIMENSIONS = (1, 4, 16, 64, 256, 1024)
LABEL = r"$\operatorname{Var}(q\cdot k/d_k)$"


def derive() -> Derivation:
    """Derive the variance of the score over the dimension."""
    route = variance_route(score / d, STANDARD)
    return Derivation(Var(score / d), route.end, (route,))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the over-scaled variance over the dimensions, and its exponent."""
    result = derivation.result
    cells = [score_cell(n, NORMAL, NORMAL, tolerance, scale=1 / d) for n in DIMENSIONS]
    points = variances(cells, LABEL, lambda n: result.subs(d, n))
    lines = fits(points, DIMENSIONS, LABEL, (exponent(result), misfit("power")))
    at64 = cells[DIMENSIONS.index(64)]
    controls = (
        Control(
            "the variance stays at 1, as after dividing by the root",
            Quantity("stays-at-one", LABEL, at64.cell, at64.variance, prediction(S.One)),
            truth=1 / 64,
        ),
        biased(points[DIMENSIONS.index(64)], tolerance),
        *wrong_fits(lines, tolerance),
    )
    return Experiment((*points, *lines), controls)


def figures(derivation: Derivation, findings: Findings) -> tuple[Figure, ...]:
    """Draw the falling variance beside the level line that the root would give."""
    span = (DIMENSIONS[0], DIMENSIONS[-1])
    return (
        against_dimension(
            "falling-variance",
            "Divided by the dimension itself, scores shrink away",
            "Divided by d, the measured variance of the score falls like 1/d, a thousandfold at 1024 "
            "dimensions, far below the level line at 1.",
            r"variance of $q\cdot k/d_k$",
            (
                formula("derived", "truth", derivation.result, span),
                formula("wrong", "control", S.One, span),
                measured((findings.checks[f"variance-d{n}"] for n in DIMENSIONS), "measured"),
            ),
        ),
    )


CLAIM = Claim(
    title="Dividing by the dimension itself shrinks the variance to its inverse",
    statement=(
        r"For independent components with mean 0 and variance 1, "
        r"$\operatorname{Var}(q\cdot k/d_k) = 1/d_k$."
    ),
    meaning=(
        "Scores divided by $d_k$ crowd together as the dimension grows, and softmax over them approaches an "
        "even spread over all keys. (Where queries and keys are aligned rather than independent, the mean "
        "of the score grows like $d_k$ itself, and this scale has its use.)"
    ),
    assumptions=STANDARD_COMPONENTS,
    derive=derive,
    experiment=experiment,
    figures=figures,
)
