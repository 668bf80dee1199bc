"""Var(q·k) for components of any mean and variance."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from sympy import diff, simplify

from verify.claim import Claim, Findings
from verify.conditions import FINITE_VARIANCE, INDEPENDENT
from verify.designs import (
    ScoreCell,
    biased,
    exactly,
    fact,
    fits,
    linear_law,
    prediction,
    score_cell,
    variances,
)
from verify.evidence import Assumption, Fact, Figure
from verify.montecarlo.components import EXPONENTIAL, NORMAL, UNIT_INTERVAL, ComponentLaw
from verify.montecarlo.experiment import Control, Experiment, Quantity, Tolerance
from verify.pictures import against_dimension, curve, measured
from verify.symbolic.derivation import Definition, Derivation, Identity, Route, Step
from verify.symbolic.expectation import E, Var, evaluate
from verify.symbolic.scores import GENERAL, d, mean_route, mu_k, mu_q, score, sigma_k, sigma_q, variance_route

if TYPE_CHECKING:
    from collections.abc import Sequence

UNIFORM_DIMENSIONS = (1, 3, 100, 1000)
NORMAL_DIMENSIONS = (1, 8, 64)
EXPONENTIAL_DIMENSIONS = (2, 32)
COARSE = Tolerance(2.0)
"""For a thousand dimensions: the means make blocks vary as single vectors do, so draws are dear."""
LABEL = r"$\operatorname{Var}(q\cdot k)$"
MEAN = r"$\mathbb{E}[q\cdot k]$"
SHIFTED_Q = NORMAL.moved(Fraction(1, 2), 1, "normal(½, 1)")
SHIFTED_K = NORMAL.moved(-1, 2, "normal(−1, 2²)")
SKEWED = EXPONENTIAL.moved(1, 1, "exponential")


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


def _at(expression: Any, query: ComponentLaw, key: ComponentLaw) -> Any:
    """Return ``expression`` with the laws' exact means and variances put in, symbolic in d."""
    return simplify(
        expression.subs(
            {
                mu_q: exactly(query.mean),
                mu_k: exactly(key.mean),
                sigma_q**2: exactly(query.variance),
                sigma_k**2: exactly(key.variance),
            }
        )
    )


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure three pairs of laws with means; fit the line for components from U(0, 1)."""
    groups = (
        ("uniform", UNIT_INTERVAL, UNIT_INTERVAL, UNIFORM_DIMENSIONS),
        ("normal", SHIFTED_Q, SHIFTED_K, NORMAL_DIMENSIONS),
        ("exponential", SKEWED, SHIFTED_Q, EXPONENTIAL_DIMENSIONS),
    )
    checks: list[Any] = []
    for name, query, key, dimensions in groups:
        law = _at(derivation.result, query, key)
        label = f"{LABEL}, {query.name} components" if query is key else LABEL
        cells = [score_cell(n, query, key, tolerance, prefix=f"{name}-") for n in dimensions]
        points = tuple(
            replace(point, tolerance=COARSE) if one.d >= 1000 else point
            for one, point in zip(
                cells, variances(cells, label, partial(law.subs, d), name=f"{name}-variance"), strict=True
            )
        )
        checks += points
        if name == "uniform":
            checks += fits(points, dimensions, label, linear_law(law, (1, dimensions[-1]), "uniform-"))
            checks += _means(cells, query, key)
            hundred = cells[dimensions.index(100)]
            truth = float(law.subs(d, 100))
    without = exactly(UNIT_INTERVAL.variance) ** 2 * 100
    control = Control(
        r"the means do not matter: the variance is $d_k \sigma_q^2 \sigma_k^2$",
        Quantity("without-means", LABEL, hundred.cell, hundred.variance, prediction(without)),
        truth=truth,
    )
    return Experiment(tuple(checks), (control, biased(checks[0], tolerance)))


def _means(cells: Sequence[ScoreCell], query: ComponentLaw, key: ComponentLaw) -> list[Quantity]:
    mean = _at(evaluate(E(score), GENERAL), query, key)
    return [
        Quantity(f"uniform-mean-d{one.d}", MEAN, one.cell, one.mean, prediction(mean.subs(d, one.d)))
        for one in cells
    ]


def facts(derivation: Derivation) -> tuple[Fact, ...]:
    """Return what one dimension of U(0, 1) components contributes."""
    law = _at(derivation.result, UNIT_INTERVAL, UNIT_INTERVAL)
    return (
        fact("uniform-variance-per-dimension", "variance per dimension, components from U(0, 1)", law / d),
    )


def figures(derivation: Derivation, findings: Findings) -> tuple[Figure, ...]:
    """Draw the variance for U(0, 1) components beside what it would be without their means."""
    span = (1, UNIFORM_DIMENSIONS[-1])
    points = [findings.checks[f"uniform-variance-d{n}"] for n in UNIFORM_DIMENSIONS]
    slope = float(diff(_at(derivation.result, UNIT_INTERVAL, UNIT_INTERVAL), d))
    without = float(UNIT_INTERVAL.variance) ** 2
    return (
        against_dimension(
            "uniform-line",
            "Components from U(0, 1): their means add six sevenths of the variance",
            "Measured variances of q·k for components from U(0, 1) lie on 7d/144, seven times above the line "
            "d/144 that ignores the means.",
            r"variance of $q\cdot k$",
            (
                curve("derived: $7d_k/144$", "truth", lambda n: slope * n, span),
                curve("wrong: $d_k/144$, without means", "control", lambda n: without * n, span),
                measured(points, "measured"),
            ),
        ),
    )


CLAIM = Claim(
    id="score-variance-general",
    order=30,
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
    references=(),
    derive=derive,
    experiment=experiment,
    facts=facts,
    figures=figures,
)
