"""Var(q·k) = d_k for independent, centred, unit-variance components."""

from verify.claims.raw_scores.shared import linear_fits
from verify.former import (
    NORMAL, STANDARD, STANDARD_COMPONENTS, VASWANI, Claim, Derivation, Experiment, Fact, Figure, Findings,
    ScoreMoments, Simulated, Step, Var, biased, cell_of, characteristic, d, evaluate, fact, figure, fitting,
    line, measured, one_product, score, score_cell, variance, variance_route, variances, wrong, wrong_fits,
)  # fmt: skip
from verify.former.rules import Moments

DIMENSIONS = (1, 2, 3, 8, 64, 100, 512, 1000, 1024)
LABEL = r"$\operatorname{Var}(q\cdot k)$"


def derive() -> Derivation:
    """Derive the variance index by index, and again through the characteristic function."""
    at_zero = "Minus the second derivative at t = 0; the first vanishes there, so the mean is 0"
    through = characteristic.route(
        "Characteristic function, for normal components",
        Step(d, at_zero, Moments(Var(score))),
    )
    return Derivation.of(variance_route(score, STANDARD), through)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the variance over the dimensions, and the line through it."""
    cells = [score_cell(n, NORMAL, NORMAL, tolerance) for n in DIMENSIONS]
    points = variances(cells, LABEL, derivation.result)
    lines = linear_fits(points, derivation.result)
    at8, at64 = fitting.in_dimension(points, 8), fitting.in_dimension(points, 64)
    correlated = cell_of("correlated-d8", Simulated(NORMAL, NORMAL, 64, 64, 8, 0.5), ScoreMoments())
    return Experiment((*points, *lines), (
        wrong(at64, "d-squared",
              "the variance is the square of {d_k}, as if one product were added that many times", 64**2),
        biased(at64, tolerance),
        wrong(at8, "correlated-components",
              "the variance is {theorem:result} even when components have a correlation of {correlation}",
              cell=correlated, estimand=variance()),
        *wrong_fits(lines, tolerance),
    ))  # fmt: skip


def facts(derivation: Derivation) -> tuple[Fact, ...]:
    """Return the variances at the dimensions that sources print, and that of a single product."""
    of_product = evaluate(Var(one_product()), STANDARD)
    printed = (
        fact(f"exact-variance-d{n}", f"variance of a score at $d_k = {n}$", derivation.result.subs(d, n))
        for n in (1, 2, 8, 64, 512)
    )
    return (fact("product-variance", "variance of one product $q_i k_i$", of_product), *printed)


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the measured variances on the derived line, and the square that they are not."""
    return figure(
        "variance-line",
        "The variance of a score is the dimension",
        "Measured variances of q·k from {variance-d1:d_k} to {variance-d1024:d_k} dimensions lie on the line "
        "of the dimension itself; the curve of its square, a wrong version, leaves them at once.",
        "variance of {score}",
        line("derived", derivation.result),
        line("wrong", d**2, "control", over=(1, 100)),
        measured(findings.matching("variance-d*")),
    )


CLAIM = Claim(
    title="The variance of a score equals the dimension",
    statement="For independent components with mean zero and unit variance, {theorem}.",
    meaning="Every dimension adds one product, and every product its own variance of {product-variance}. "
    "Doubling the dimension doubles the variance, so a typical raw score grows like {root_d}. Nothing here "
    "needs the normal law: only these means and variances.",
    assumptions=STANDARD_COMPONENTS,
    references=VASWANI,
)
