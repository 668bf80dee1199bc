"""Var(q·k/√d_k) = 1 in every dimension."""

from sympy import S, sqrt

from verify.former import (
    EVEN, NORMAL, STANDARD, STANDARD_COMPONENTS, VASWANI, Claim, Control, Derivation, Experiment, Fact,
    Figure, Findings, Quantity, Route, Step, Var, biased, d, fact, figure, fits, fitting, line, measured,
    prediction, score, score_cell, variance_route, variances, wrong_fits,
)  # fmt: skip
from verify.former.rules import Evaluation

DIMENSIONS = (1, 2, 8, 64, 512, 1024)
LABEL = r"$\operatorname{Var}(q\cdot k/\sqrt{d_k})$"


def derive() -> Derivation:
    """Derive it directly, and again by taking the factor out of the variance first."""
    scaled = score / sqrt(d)
    steps = (
        Step(Var(score) / d, "A factor enters the variance squared", Evaluation(STANDARD)),
        Step(S.One, "The variance of the raw score is the dimension", Evaluation(STANDARD, assumed=True)),
    )
    outside = Route.of("The factor first", Var(scaled), *steps)
    return Derivation.of(variance_route(scaled, STANDARD), outside)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the scaled variance over the dimensions; the line through it must be level at 1."""
    result = derivation.result
    cells = [score_cell(n, NORMAL, NORMAL, tolerance, scale=1 / sqrt(d)) for n in DIMENSIONS]
    points = variances(cells, LABEL, result)
    level = fitting.Coefficient("level", "level", "line", "constant", result.subs(d, 0), EVEN)
    rise = fitting.no_slope(result, DIMENSIONS[-1])
    lines = fits(points, level, rise, fitting.exponent(result), fitting.misfit("line"))
    raw = score_cell(64, NORMAL, NORMAL, tolerance, scale=1, prefix="unscaled-")
    unscaled = Quantity("unscaled", r"$\operatorname{Var}(q\cdot k)$", raw.cell, raw.variance, prediction(1))
    controls = (
        biased(fitting.in_dimension(points, 64), tolerance),
        Control("the variance is {value} even without scaling", unscaled, truth=64.0),
        *wrong_fits(lines, tolerance),
    )
    return Experiment((*points, *lines), controls)


def facts(derivation: Derivation) -> Fact:
    """Return the variance of a scaled score."""
    return fact("scaled-variance", r"variance of $q\cdot k/\sqrt{d_k}$", derivation.result)


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the scaled variances beside the raw ones and those over d."""
    return figure(
        "three-scales",
        "Only the square root keeps the variance level",
        "Divided by the square root of d, the measured variance of the score stays at {theorem:result} "
        "from {variance-d1:d_k} to {variance-d1024:d_k} dimensions; unscaled it would grow like d, and "
        "divided by d shrink like the inverse of d.",
        "variance of the scaled score",
        line("over {root_d}", derivation.result),
        line("unscaled", d, "control"),
        line("over {d_k}", 1 / d, "control"),
        measured(findings.matching("variance-d*")),
    )


CLAIM = Claim(
    title="Dividing by the root of the dimension makes the variance one",
    statement="For independent components with mean zero and unit variance, {theorem} for every {d_k}.",
    meaning="The scale makes scores comparable across dimensions: a head of {variance-d1024:d_k} dimensions "
    "then gives softmax scores spread like those of one dimension. It fixes the spread under the stated "
    "assumptions; trained queries and keys need not keep to them.",
    assumptions=STANDARD_COMPONENTS,
    references=VASWANI,
)
