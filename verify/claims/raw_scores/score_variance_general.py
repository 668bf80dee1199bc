"""Var(q·k) for components of any mean and variance."""

from fractions import Fraction

from sympy import Expr, Rational, S

from verify.claims.raw_scores.shared import ScoreCell, linear_fits
from verify.former import (
    E, EXPONENTIAL, GENERAL, NORMAL, UNIFORM_COMPONENTS, Claim, Components, Derivation, Experiment, Fact,
    Figure, Findings, Step, Tolerance, biased, d, evaluate, fact, figure, fitting, for_components, line,
    mean_route, means, measured, mu_k, mu_q, of_deviation, score, score_cell, sigma_k, sigma_q,
    variance_route, variances, wrong, wrong_fits,
)  # fmt: skip
from verify.former.rules import Identity

LABEL = r"$\operatorname{Var}(q\cdot k)$"
SHIFTED_Q = Components(NORMAL.moved(Fraction(1, 2), 1), Rational(1, 2), S(1))
SHIFTED_K = Components(NORMAL.moved(-1, 2), S(-1), S(4))
SKEWED = Components(EXPONENTIAL.moved(1, 1), S(1), S(1))


def derive() -> Derivation:
    """Derive the variance for any means and variances, then write it with second moments."""
    second = (sigma_q**2 + mu_q**2) * (sigma_k**2 + mu_k**2)
    last = Step(d * (second - mu_q**2 * mu_k**2), "Written with the second moments", Identity())
    mean = mean_route(score, GENERAL, "The mean").defining("the mean of a score").called("mean")
    return Derivation.of(variance_route(score, GENERAL).then(last), lemmas=(mean,))


def _for_uniform(expression: Expr) -> Expr:
    return for_components(expression, UNIFORM_COMPONENTS, UNIFORM_COMPONENTS)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure three pairs of laws with means; fit the line for components from U(0, 1)."""

    def cells(name: str, query: Components, key: Components, *dimensions: int) -> list[ScoreCell]:
        laws = query.distribution, key.distribution
        return [score_cell(n, *laws, tolerance, prefix=f"{name}-") for n in dimensions]

    law, mean = map(_for_uniform, (derivation.result, evaluate(E(score), GENERAL)))
    of_uniform = cells("uniform", UNIFORM_COMPONENTS, UNIFORM_COMPONENTS, 1, 3, 100, 1000)
    # In 1000 dimensions means make blocks vary as single vectors do.
    label, coarse = f"{LABEL}, U(0,1) components", lambda n: Tolerance(2.0 if n == 1000 else 1.0)
    uniform = variances(of_uniform, label, law, coarse)
    lines = linear_fits(uniform, law, "uniform-")
    of_mean = means(of_uniform, r"$\mathbb{E}[q\cdot k]$", mean, lambda n: of_deviation(law.subs(d, n), 2.0))
    normal, skewed = (
        variances(cells(name, query, key, *dimensions), LABEL, for_components(derivation.result, query, key))
        for name, query, key, *dimensions in (
            ("normal", SHIFTED_Q, SHIFTED_K, 1, 8, 64),
            ("exponential", SKEWED, SHIFTED_Q, 2, 32),
        )
    )
    without = "the means do not matter: the variance is {without_means}"
    controls = (
        wrong(
            fitting.in_dimension(uniform, 100), "without-means", without, 100 * UNIFORM_COMPONENTS.variance**2
        ),
        biased(uniform[0], tolerance),
        wrong(
            fitting.in_dimension(of_mean, 3),
            "as-if-centred",
            "the mean is {value} also for uniform components that are all positive",
            0,
        ),
        *wrong_fits(lines, tolerance),
    )
    return Experiment((*uniform, *lines, *of_mean, *normal, *skewed), controls)


def facts(derivation: Derivation) -> Fact:
    """Return what one dimension of U(0, 1) components contributes."""
    what = "variance per dimension, components from U(0, 1)"
    return fact("uniform-variance-per-dimension", what, _for_uniform(derivation.result) / d)


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the variance for U(0, 1) components beside what it would be without their means."""
    return figure(
        "uniform-line",
        "Components that are all positive: their means add six sevenths of the variance",
        "Measured variances of the score for uniform components between zero and one lie on a line seven "
        "times above the one that ignores the means.",
        "variance of {score}",
        line("derived", _for_uniform(derivation.result)),
        line("wrong, without means", UNIFORM_COMPONENTS.variance**2 * d, "control"),
        measured(findings.matching("uniform-variance-d*")),
    )


CLAIM = Claim(
    title="The variance of a score for any means and variances",
    statement="For independent components of any means and variances, {theorem}, and the mean is "
    "{mean:result}.",
    meaning="The growth with the dimension stays linear, but means add to it: for components that are "
    "uniform between zero and one, the habit of many demonstrations, the variance is "
    "{uniform-variance-per-dimension} a dimension, of which only a seventh would remain if the components "
    "were centred. Much of that surplus is common to all keys of one query.",
    symbols={"without_means": d * sigma_q**2 * sigma_k**2},
)
