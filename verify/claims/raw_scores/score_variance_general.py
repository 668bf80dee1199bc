"""Var(q·k) for components of any mean and variance."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from sympy import Rational, S, simplify

from verify.spec import (
    EXPONENTIAL, FINITE_VARIANCE, GENERAL, INDEPENDENT, NORMAL, UNIT_INTERVAL, Assumption, Claim, Control,
    Definition, Derivation, E, Experiment, Fact, Figure, Findings, Identity, Quantity, Route, ScoreCell,
    Step, Tolerance, Var, against_dimension, biased, d, evaluate, fact, fits, formula, linear_law,
    mean_route, measured, mu_k, mu_q, prediction, score, score_cell, sigma_k, sigma_q, variance_route,
    variances, wrong_fits,
)  # fmt: skip

if TYPE_CHECKING:
    from collections.abc import Sequence

UNIFORM_DIMENSIONS = (1, 3, 100, 1000)
NORMAL_DIMENSIONS = (1, 8, 64)
EXPONENTIAL_DIMENSIONS = (2, 32)
COARSE = Tolerance(2.0)
"""For a thousand dimensions: the means make blocks vary as single vectors do, so draws are dear."""
LABEL = r"$\operatorname{Var}(q\cdot k)$"
MEAN = r"$\mathbb{E}[q\cdot k]$"
SHIFTED_Q = NORMAL.moved(Fraction(1, 2), 1)
SHIFTED_K = NORMAL.moved(-1, 2)
SKEWED = EXPONENTIAL.moved(1, 1)

Moments = tuple[Any, Any]
"""Mean and variance of a component, written out: a prediction asks nothing of the law that is drawn."""

OF_UNIFORM: Moments = (Rational(1, 2), Rational(1, 12))
OF_SHIFTED_Q: Moments = (Rational(1, 2), S(1))
OF_SHIFTED_K: Moments = (S(-1), S(4))
OF_SKEWED: Moments = (S(1), S(1))


def derive() -> Derivation:
    """Derive the variance for any means and variances, then write it with second moments."""
    route = variance_route(score, GENERAL)
    second = (sigma_q**2 + mu_q**2) * (sigma_k**2 + mu_k**2)
    by_second_moments = d * (second - mu_q**2 * mu_k**2)
    last = Step(by_second_moments, "Written with the second moments", Identity())
    route = Route(route.title, route.start, (*route.steps, last))
    return Derivation(
        Var(score),
        by_second_moments,
        (route,),
        lemmas=(mean_route(score, GENERAL, "The mean"),),
        definitions=(Definition(E(score), "the mean of a score"),),
    )


def _at(expression: Any, query: Moments, key: Moments) -> Any:
    """Return ``expression`` for components of these means and variances, symbolic in d."""
    given = {mu_q: query[0], mu_k: key[0], sigma_q**2: query[1], sigma_k**2: key[1]}
    return simplify(expression.subs(given))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure three pairs of laws with means; fit the line for components from U(0, 1)."""
    groups = (
        ("uniform", (UNIT_INTERVAL, OF_UNIFORM), (UNIT_INTERVAL, OF_UNIFORM), UNIFORM_DIMENSIONS),
        ("normal", (SHIFTED_Q, OF_SHIFTED_Q), (SHIFTED_K, OF_SHIFTED_K), NORMAL_DIMENSIONS),
        ("exponential", (SKEWED, OF_SKEWED), (SHIFTED_Q, OF_SHIFTED_Q), EXPONENTIAL_DIMENSIONS),
    )
    checks: list[Any] = []
    for name, (query, of_query), (key, of_key), dimensions in groups:
        of_laws = _at(derivation.result, of_query, of_key)
        label = f"{LABEL}, {query.name} components" if query is key else LABEL
        cells = [score_cell(n, query, key, tolerance, prefix=f"{name}-") for n in dimensions]
        points = tuple(
            replace(point, tolerance=COARSE) if one.d >= 1000 else point
            for one, point in zip(
                cells, variances(cells, label, partial(of_laws.subs, d), name=f"{name}-variance"), strict=True
            )
        )
        checks += points
        if name == "uniform":
            lines = fits(points, dimensions, label, linear_law(of_laws, (1, dimensions[-1]), "uniform-"))
            means = _means(cells, of_laws)
            checks += [*lines, *means]
            hundred = cells[dimensions.index(100)]
            truth = float(of_laws.subs(d, 100))
    without = OF_UNIFORM[1] ** 2 * 100
    control = Control(
        r"the means do not matter: the variance is $d_k \sigma_q^2 \sigma_k^2$",
        Quantity("without-means", LABEL, hundred.cell, hundred.variance, prediction(without)),
        truth=truth,
    )
    at3 = means[UNIFORM_DIMENSIONS.index(3)]
    centred = Control(
        "the mean is 0 also for components from U(0, 1)",
        replace(at3, id="as-if-centred", prediction=prediction(S.Zero)),
        truth=at3.prediction.value,
    )
    controls = (control, biased(checks[0], tolerance), centred, *wrong_fits(lines, tolerance))
    return Experiment(tuple(checks), controls)


def _means(cells: Sequence[ScoreCell], of_laws: Any) -> list[Quantity]:
    """Return the comparisons of the means, on the scale of the scores' own spread."""
    mean = _at(evaluate(E(score), GENERAL), OF_UNIFORM, OF_UNIFORM)
    return [
        Quantity(
            f"uniform-mean-d{one.d}",
            MEAN,
            one.cell,
            one.mean,
            prediction(mean.subs(d, one.d)),
            Tolerance(2.0, float(of_laws.subs(d, one.d)) ** 0.5, "the standard deviation"),
        )
        for one in cells
    ]


def facts(derivation: Derivation) -> tuple[Fact, ...]:
    """Return what one dimension of U(0, 1) components contributes."""
    of_uniform = _at(derivation.result, OF_UNIFORM, OF_UNIFORM) / d
    return (
        fact("uniform-variance-per-dimension", "variance per dimension, components from U(0, 1)", of_uniform),
    )


def figures(derivation: Derivation, findings: Findings) -> tuple[Figure, ...]:
    """Draw the variance for U(0, 1) components beside what it would be without their means."""
    span = (1, UNIFORM_DIMENSIONS[-1])
    points = [findings.checks[f"uniform-variance-d{n}"] for n in UNIFORM_DIMENSIONS]
    return (
        against_dimension(
            "uniform-line",
            "Components from U(0, 1): their means add six sevenths of the variance",
            "Measured variances of q·k for components from U(0, 1) lie on 7d/144, seven times above the line "
            "d/144 that ignores the means.",
            r"variance of $q\cdot k$",
            (
                formula("derived", "truth", _at(derivation.result, OF_UNIFORM, OF_UNIFORM), span),
                formula("wrong, without means", "control", OF_UNIFORM[1] ** 2 * d, span),
                measured(points, "measured"),
            ),
        ),
    )


CLAIM = Claim(
    title="The variance of a score for any means and variances",
    statement=(
        r"For independent components with means $\mu_q, \mu_k$ and variances $\sigma_q^2, \sigma_k^2$, "
        r"$\operatorname{Var}(q\cdot k) = d_k\left[(\sigma_q^2+\mu_q^2)(\sigma_k^2+\mu_k^2)"
        r" - \mu_q^2\mu_k^2\right]$, and the mean is $d_k\mu_q\mu_k$."
    ),
    meaning=(
        "The growth with the dimension stays linear, but means add to it: for components from U(0, 1), the "
        r"habit of many demonstrations, the variance is $7d_k/144$, of which only $d_k/144$ would remain if "
        "the components were centred. Much of that surplus is common to all keys of one query."
    ),
    assumptions=(
        INDEPENDENT,
        Assumption(id="alike", text="The components of a query have one law, those of a key another."),
        FINITE_VARIANCE,
    ),
    derive=derive,
    experiment=experiment,
    facts=facts,
    figures=figures,
)
