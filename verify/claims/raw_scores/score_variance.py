"""Var(q·k) = d_k for independent, centred, unit-variance components."""

from __future__ import annotations

from typing import Any

from sympy import O, S, diff, series, simplify

from verify.spec import (
    NORMAL, STANDARD, STANDARD_COMPONENTS, VASWANI, By, Claim, Control, Derivation, Experiment, Fact,
    Figure, Findings, Quantity, Route, ScoreMatrices, Step, Var, against_dimension, biased, cell_of,
    characteristic, d, evaluate, fact, fits, formula, linear_law, measured, one_product, prediction, score,
    score_cell, variance, variance_route, variances, wrong_fits,
)  # fmt: skip

DIMENSIONS = (1, 2, 3, 8, 64, 100, 512, 1000, 1024)
LABEL = r"$\operatorname{Var}(q\cdot k)$"


def _agrees_with_series(before: Any, after: Any) -> bool:
    """Expand about t = 0: 1 + 0·t - (variance/2)·t²; the missing linear term makes the mean zero."""
    about_zero = series(before, characteristic.t, 0, 3)
    return bool(
        simplify(about_zero - (1 - after * characteristic.t**2 / 2 + O(characteristic.t**3)))
        == O(characteristic.t**3)
    )


def derive() -> Derivation:
    """Derive the variance index by index, and again through the characteristic function."""
    by_index = variance_route(score, STANDARD)
    at_zero = -diff(characteristic.OF_SCORE, characteristic.t, 2).subs(characteristic.t, 0)
    step = Step(
        at_zero,
        "Minus the second derivative at t = 0; the first vanishes there, so the mean is 0",
        By("binomial series of the function about t = 0", _agrees_with_series, "general"),
        relation="⇒",
    )
    through = Route(
        "Characteristic function, for normal components", characteristic.START, (*characteristic.STEPS, step)
    )
    return Derivation(Var(score), by_index.end, (by_index, through), definitions=(characteristic.DEFINITION,))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the variance over the dimensions, and the line through it."""
    cells = [score_cell(n, NORMAL, NORMAL, tolerance) for n in DIMENSIONS]
    points = variances(cells, LABEL, lambda n: derivation.result.subs(d, n))
    lines = fits(points, DIMENSIONS, LABEL, linear_law(derivation.result, (DIMENSIONS[0], DIMENSIONS[-1])))
    at64 = cells[DIMENSIONS.index(64)]
    correlated = cell_of("correlated-d8", ScoreMatrices(8, 64, NORMAL, NORMAL, correlation=0.5))
    controls = (
        Control(
            "the variance is $d_k^2$, as when one and the same product is added $d_k$ times",
            Quantity("d-squared", LABEL, at64.cell, at64.variance, prediction(S(64) ** 2)),
            truth=64.0,
        ),
        biased(points[DIMENSIONS.index(64)], tolerance),
        Control(
            r"the variance is $d_k$ also when the components of a vector are correlated ($\rho = 0.5$)",
            Quantity("correlated-components", LABEL, correlated, variance(), prediction(S(8))),
        ),
        *wrong_fits(lines, tolerance),
    )
    return Experiment((*points, *lines), controls)


def facts(derivation: Derivation) -> tuple[Fact, ...]:
    """Return the variances at the dimensions that sources print, and that of a single product."""
    of_product = evaluate(Var(one_product()), STANDARD)
    printed = (
        fact(f"exact-variance-d{n}", f"variance of a score at $d_k = {n}$", derivation.result.subs(d, n))
        for n in (1, 2, 8, 64, 512)
    )
    return (fact("product-variance", "variance of one product $q_i k_i$", of_product), *printed)


def figures(derivation: Derivation, findings: Findings) -> tuple[Figure, ...]:
    """Draw the measured variances on the derived line, and the square that they are not."""
    span = (DIMENSIONS[0], DIMENSIONS[-1])
    return (
        against_dimension(
            "variance-line",
            "The variance of a score is the dimension",
            "Measured variances of q·k from one to 1024 dimensions lie on the line variance = d; "
            "the curve d squared, a wrong version, leaves them at once.",
            r"variance of $q\cdot k$",
            (
                formula("derived", "truth", derivation.result, span),
                formula("wrong", "control", d**2, (span[0], 100.0)),
                measured((findings.checks[f"variance-d{n}"] for n in DIMENSIONS), "measured"),
            ),
        ),
    )


CLAIM = Claim(
    title="The variance of a score equals the dimension",
    statement=r"For independent components with mean 0 and variance 1, $\operatorname{Var}(q\cdot k) = d_k$.",
    meaning=(
        "Every dimension adds one product, and every product adds its own variance of 1. Doubling the "
        r"dimension doubles the variance, so a typical raw score grows like $\sqrt{d_k}$. Nothing here needs "
        "the normal law: only that the components are independent, centred and of unit variance."
    ),
    assumptions=STANDARD_COMPONENTS,
    references=(VASWANI,),
    derive=derive,
    experiment=experiment,
    facts=facts,
    figures=figures,
)
