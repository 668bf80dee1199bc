"""Var(q·k/√d_k) = 1 in every dimension."""

from __future__ import annotations

from sympy import S, diff, sqrt

from verify.spec import (
    NORMAL, STANDARD, STANDARD_COMPONENTS, VASWANI, Claim, Control, Derivation, Evaluation, Experiment,
    Fact, Figure, Findings, Quantity, Route, Step, Tolerance, Var, Wanted, against_dimension, biased, d,
    exponent, fact, fits, formula, measured, misfit, prediction, score, score_cell, variance_route,
    variances, wrong_fits,
)  # fmt: skip

DIMENSIONS = (1, 2, 8, 64, 512, 1024)
LABEL = r"$\operatorname{Var}(q\cdot k/\sqrt{d_k})$"


def derive() -> Derivation:
    """Derive it directly, and again by taking the factor out of the variance first."""
    scaled = score / sqrt(d)
    direct = variance_route(scaled, STANDARD)
    outside = Route(
        "The factor first",
        Var(scaled),
        (
            Step(Var(score) / d, r"A factor enters the variance squared", Evaluation(STANDARD)),
            Step(
                S.One,
                "The variance of the raw score is the dimension",
                Evaluation(STANDARD, assumed=True),
            ),
        ),
    )
    return Derivation(Var(scaled), direct.end, (direct, outside))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the scaled variance over the dimensions; the line through it must be level at 1."""
    result = derivation.result
    cells = [score_cell(n, NORMAL, NORMAL, tolerance, scale=1 / sqrt(d)) for n in DIMENSIONS]
    points = variances(cells, LABEL, lambda n: result.subs(d, n))
    rise = Tolerance(1.0, 1 / DIMENSIONS[-1], "the level over the largest $d_k$")
    wanted = (
        Wanted("level", "level", "line", "constant", result.subs(d, 0), Tolerance()),
        Wanted("slope", "slope", "line", "slope", diff(result, d), rise),
        exponent(result),
        misfit("line"),
    )
    lines = fits(points, DIMENSIONS, LABEL, wanted)
    raw = score_cell(64, NORMAL, NORMAL, tolerance, scale=1, prefix="unscaled-")
    controls = (
        biased(points[DIMENSIONS.index(64)], tolerance),
        Control(
            "the variance is 1 also without scaling",
            Quantity(
                "unscaled", r"$\operatorname{Var}(q\cdot k)$", raw.cell, raw.variance, prediction(S.One)
            ),
            truth=64.0,
        ),
        *wrong_fits(lines, tolerance),
    )
    return Experiment((*points, *lines), controls)


def facts(derivation: Derivation) -> tuple[Fact, ...]:
    """Return the variance of a scaled score."""
    return (fact("scaled-variance", r"variance of $q\cdot k/\sqrt{d_k}$", derivation.result),)


def figures(derivation: Derivation, findings: Findings) -> tuple[Figure, ...]:
    """Draw the scaled variances beside the raw ones and those over d."""
    span = (DIMENSIONS[0], DIMENSIONS[-1])
    return (
        against_dimension(
            "three-scales",
            "Only the square root keeps the variance level",
            "Divided by the square root of d, the measured variance of the score stays at 1 from one "
            "to 1024 dimensions; unscaled it would grow like d, and divided by d shrink like 1/d.",
            "variance of the scaled score",
            (
                formula(r"over $\sqrt{d_k}$", "truth", derivation.result, span),
                formula("unscaled", "control", d, span),
                formula("over $d_k$", "control", 1 / d, span),
                measured((findings.checks[f"variance-d{n}"] for n in DIMENSIONS), "measured"),
            ),
        ),
    )


CLAIM = Claim(
    title="Dividing by the root of the dimension makes the variance 1",
    statement=(
        r"For independent components with mean 0 and variance 1, "
        r"$\operatorname{Var}(q\cdot k/\sqrt{d_k}) = 1$ for every $d_k$."
    ),
    meaning=(
        "The scale makes scores comparable across dimensions: a head of 1024 dimensions then gives softmax "
        "scores spread like those of one dimension. It fixes the spread under the stated assumptions; "
        "trained queries and keys need not keep to them."
    ),
    assumptions=STANDARD_COMPONENTS,
    references=(VASWANI,),
    derive=derive,
    experiment=experiment,
    facts=facts,
    figures=figures,
)
