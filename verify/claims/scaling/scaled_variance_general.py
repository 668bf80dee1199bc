"""After dividing by the root of the dimension the variance is that of a single product."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from sympy import S, diff, simplify, sqrt

from verify.claim import Claim, Findings
from verify.conditions import FINITE_VARIANCE, INDEPENDENT
from verify.designs import Wanted, biased, exactly, fits, prediction, score_cell, variances
from verify.evidence import Assumption, Figure
from verify.montecarlo.components import NORMAL, UNIT_INTERVAL, ComponentLaw
from verify.montecarlo.experiment import Comparison, Control, Experiment, Quantity, Tolerance
from verify.pictures import against_dimension, curve, measured
from verify.symbolic.derivation import Derivation, Route, Step
from verify.symbolic.expansion import Evaluation
from verify.symbolic.expectation import Var, evaluate
from verify.symbolic.scores import (
    CENTRED,
    GENERAL,
    d,
    mu_k,
    mu_q,
    one_product,
    score,
    sigma_k,
    sigma_q,
    variance_route,
)

if TYPE_CHECKING:
    from collections.abc import Callable

DIMENSIONS = (1, 8, 64, 256)
LABEL = r"$\operatorname{Var}(q\cdot k/\sqrt{d_k})$"
WIDE, NARROW = NORMAL.moved(0, 2, "normal(0, 2²)"), NORMAL.moved(0, 3, "normal(0, 3²)")


def derive() -> Derivation:
    """Derive the scaled variance for any means, and that it is the variance of one product."""
    scaled = score / sqrt(d)
    route = variance_route(scaled, GENERAL)
    moments = Evaluation(GENERAL, assumed=True)
    backwards = Step(Var(one_product()), "which is the variance of one product", moments)
    centred = variance_route(scaled, CENTRED, "For centred components")
    whole = Route(route.title, route.start, (*route.steps, backwards))
    return Derivation(Var(scaled), Var(one_product()), (whole,), lemmas=(centred,))


def _of_product(derivation: Derivation, query: ComponentLaw, key: ComponentLaw) -> Any:
    of_laws = {
        mu_q: exactly(query.mean),
        mu_k: exactly(key.mean),
        sigma_q: sqrt(exactly(query.variance)),
        sigma_k: sqrt(exactly(key.variance)),
    }
    return simplify(evaluate(derivation.result, GENERAL).subs(of_laws))


def _level(value: Any) -> Callable[[float], Any]:
    """Return the function that has this value in every dimension."""
    return lambda _: value


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure it for centred components of unequal spread, and for components from U(0, 1)."""
    checks: list[Comparison] = []
    for name, query, key in (("centred", WIDE, NARROW), ("uniform", UNIT_INTERVAL, UNIT_INTERVAL)):
        level = _of_product(derivation, query, key)
        cells = [
            score_cell(
                n, query, key, tolerance, scale=n**-0.5, prefix=f"{name}-", scale_name=r"$1/\sqrt{d_k}$"
            )
            for n in DIMENSIONS
        ]
        label = f"{LABEL}, {query.name} components"
        points = variances(cells, label, _level(level), name=f"{name}-variance")
        rise = Tolerance(1.0, float(level) / DIMENSIONS[-1], "the level over the largest $d_k$")
        slope = Wanted(f"{name}-slope", "slope", "line", "slope", diff(level, d), rise)
        checks += [*points, *fits(points, DIMENSIONS, label, (slope,))]
        last = cells[-1]
    uniform = _of_product(derivation, UNIT_INTERVAL, UNIT_INTERVAL)
    wrong = partial(Quantity, label=label, cell=last.cell, estimand=last.variance)
    spread = exactly(UNIT_INTERVAL.variance) ** 2
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
    )
    return Experiment(tuple(checks), controls)


def figures(derivation: Derivation, findings: Findings) -> tuple[Figure, ...]:
    """Draw both levels over the dimension."""
    span = (DIMENSIONS[0], DIMENSIONS[-1])
    layers = []
    for name, query, key, text in (
        ("centred", WIDE, NARROW, r"deviations 2 and 3: 36"),
        ("uniform", UNIT_INTERVAL, UNIT_INTERVAL, "$U(0, 1)$: 7/144"),
    ):
        level = float(_of_product(derivation, query, key))
        layers.append(curve(text, "truth", _level(level), span))
        layers.append(measured((findings.checks[f"{name}-variance-d{n}"] for n in DIMENSIONS), ""))
    layers.append(curve("wrong: always 1", "control", lambda _: 1.0, span))
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
    id="scaled-variance-general",
    order=60,
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
    references=(),
    derive=derive,
    experiment=experiment,
    figures=figures,
)
