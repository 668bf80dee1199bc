"""After dividing by the root of the dimension the variance is that of a single product."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from sympy import Rational, S, diff, simplify, sqrt

from verify.spec import (
    CENTRED, FINITE_VARIANCE, GENERAL, INDEPENDENT, NORMAL, UNIT_INTERVAL, Assumption, Claim, Comparison,
    Control, Derivation, Evaluation, Experiment, Figure, Findings, Quantity, Route, Step, Tolerance, Var,
    Wanted, against_dimension, biased, d, evaluate, fits, formula, measured, mu_k, mu_q, one_product,
    prediction, score, score_cell, sigma_k, sigma_q, variance_route, variances, wrong_fits,
)  # fmt: skip

if TYPE_CHECKING:
    from collections.abc import Callable

DIMENSIONS = (1, 8, 64, 256)
LABEL = r"$\operatorname{Var}(q\cdot k/\sqrt{d_k})$"
DOUBLE, TRIPLE = NORMAL.moved(0, 2), NORMAL.moved(0, 3)

Moments = tuple[Any, Any]
"""Mean and variance of a component, written out: a prediction asks nothing of the law that is drawn."""

OF_DOUBLE: Moments = (S(0), S(4))
OF_TRIPLE: Moments = (S(0), S(9))
OF_UNIFORM: Moments = (Rational(1, 2), Rational(1, 12))
CASES = (
    ("centred", (DOUBLE, OF_DOUBLE), (TRIPLE, OF_TRIPLE)),
    ("uniform", (UNIT_INTERVAL, OF_UNIFORM), (UNIT_INTERVAL, OF_UNIFORM)),
)


def derive() -> Derivation:
    """Derive the scaled variance for any means, and that it is the variance of one product."""
    scaled = score / sqrt(d)
    route = variance_route(scaled, GENERAL)
    moments = Evaluation(GENERAL, assumed=True)
    backwards = Step(Var(one_product()), "which is the variance of one product", moments)
    centred = variance_route(scaled, CENTRED, "For centred components")
    whole = Route(route.title, route.start, (*route.steps, backwards))
    return Derivation(Var(scaled), Var(one_product()), (whole,), lemmas=(centred,))


def _of_product(derivation: Derivation, query: Moments, key: Moments) -> Any:
    given = {mu_q: query[0], mu_k: key[0], sigma_q: sqrt(query[1]), sigma_k: sqrt(key[1])}
    return simplify(evaluate(derivation.result, GENERAL).subs(given))


def _level(value: Any) -> Callable[[float], Any]:
    """Return the function that has this value in every dimension."""
    return lambda _: value


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure it for centred components of unequal spread, and for components from U(0, 1)."""
    checks: list[Comparison] = []
    for name, (query, of_query), (key, of_key) in CASES:
        level = _of_product(derivation, of_query, of_key)
        cells = [
            score_cell(n, query, key, tolerance, scale=1 / sqrt(d), prefix=f"{name}-") for n in DIMENSIONS
        ]
        label = f"{LABEL}, {query.name} and {key.name} components"
        points = variances(cells, label, _level(level), name=f"{name}-variance")
        rise = Tolerance(1.0, float(level) / DIMENSIONS[-1], "the level over the largest $d_k$")
        slope = Wanted(f"{name}-slope", "slope", "line", "slope", diff(level, d), rise)
        lines = fits(points, DIMENSIONS, label, (slope,))
        checks += [*points, *lines]
        last = cells[-1]
    uniform = _of_product(derivation, OF_UNIFORM, OF_UNIFORM)
    wrong = partial(Quantity, label=label, cell=last.cell, estimand=last.variance)
    spread = OF_UNIFORM[1] ** 2
    controls = (
        Control(
            r"scaling makes the variance 1, whatever the components ($U(0, 1)$)",
            wrong("always-one", prediction=prediction(S.One)),
            truth=float(uniform),
        ),
        Control(
            r"it is $\sigma_q^2\sigma_k^2$ also for components with a mean ($U(0, 1)$)",
            wrong("means-do-not-matter", prediction=prediction(spread)),
            truth=float(uniform),
        ),
        biased(points[1], tolerance),
        *wrong_fits(lines, tolerance),
    )
    return Experiment(tuple(checks), controls)


def figures(derivation: Derivation, findings: Findings) -> tuple[Figure, ...]:
    """Draw both levels over the dimension."""
    span = (DIMENSIONS[0], DIMENSIONS[-1])
    layers = []
    for name, (query, of_query), (key, of_key) in CASES:
        level = _of_product(derivation, of_query, of_key)
        layers.append(formula(f"{query.name} and {key.name}", "truth", level, span))
        layers.append(measured((findings.checks[f"{name}-variance-d{n}"] for n in DIMENSIONS), ""))
    layers.append(formula("wrong", "control", S.One, span))
    return (
        against_dimension(
            "levels",
            "Scaling brings back the variance of one product, which need not be 1",
            "Scaled variances stay level over the dimension: at 36 for centred components with deviations 2 "
            "and 3, at 7 over 144 for uniform ones, and not at 1.",
            r"variance of $q\cdot k/\sqrt{d_k}$",
            layers,
        ),
    )


CLAIM = Claim(
    title="Scaling brings back the variance of a single dimension",
    statement=(
        r"For independent components of any mean and variance, $\operatorname{Var}(q\cdot k/\sqrt{d_k})$ "
        r"is the variance of one product $q_i k_i$ for every $d_k$; for centred components that is "
        r"$\sigma_q^2\sigma_k^2$."
    ),
    meaning=(
        "The root takes the dimension out of the variance and nothing else. That scaled scores have "
        "variance 1 rests on "
        "unit components: layer normalisation or initialisation must provide them. With deviations of 2 "
        "and 3 scaled scores still have a deviation of 6, enough to saturate the softmax."
    ),
    assumptions=(
        INDEPENDENT,
        Assumption(id="alike", text="The components of a query have one law, those of a key another."),
        FINITE_VARIANCE,
    ),
    derive=derive,
    experiment=experiment,
    figures=figures,
)
