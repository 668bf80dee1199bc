"""After dividing by the root of the dimension the variance is that of a single product."""

from typing import Any

from sympy import Rational, S, sqrt

from verify.spec import (
    ALIKE, CENTRED, FINITE_VARIANCE, GENERAL, INDEPENDENT, NORMAL, UNIT_INTERVAL, Claim, Comparison,
    Derivation, Distribution, Evaluation, Experiment, Figure, Findings, Step, Var, biased, d, evaluate,
    figure, fits, line, measured, no_slope, one_product, score, score_cell, variance_route, variances,
    with_moments, wrong, wrong_fits,
)  # fmt: skip

DIMENSIONS = (1, 8, 64, 256)
LABEL = r"$\operatorname{Var}(q\cdot k/\sqrt{d_k})$"

Drawn = tuple[Distribution, Any, Any]
"""What is drawn; its mean and variance, written out: a prediction asks nothing of what is drawn."""

DOUBLE: Drawn = (NORMAL.moved(0, 2), S(0), S(4))
TRIPLE: Drawn = (NORMAL.moved(0, 3), S(0), S(9))
UNIFORM: Drawn = (UNIT_INTERVAL, Rational(1, 2), Rational(1, 12))
CASES = {"centred": (DOUBLE, TRIPLE), "uniform": (UNIFORM, UNIFORM)}


def derive() -> Derivation:
    """Derive the scaled variance for any means, and that it is the variance of one product."""
    scaled = score / sqrt(d)
    backwards = "which is the variance of one product"
    whole = variance_route(scaled, GENERAL).then(
        Step(Var(one_product()), backwards, Evaluation(GENERAL, assumed=True))
    )
    return Derivation.of(whole, lemmas=(variance_route(scaled, CENTRED, "For centred components"),))


def _level(derivation: Derivation, query: Drawn, key: Drawn) -> Any:
    """Return the variance of one product of such components."""
    return with_moments(evaluate(derivation.result, GENERAL), query[1:], key[1:])


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure it for centred components of unequal spread, and for components from U(0, 1)."""
    checks: list[Comparison] = []
    for name, (query, key) in CASES.items():
        level = _level(derivation, query, key)
        cells = [
            score_cell(n, query[0], key[0], tolerance, scale=1 / sqrt(d), prefix=f"{name}-")
            for n in DIMENSIONS
        ]
        label = f"{LABEL}, {query[0].name} and {key[0].name} components"
        points = variances(cells, label, level)
        lines = fits(points, no_slope(level, DIMENSIONS[-1], f"{name}-"))
        checks += [*points, *lines]
    one = r"scaling makes the variance 1, whatever the components ($U(0, 1)$)"
    spreads = r"it is $\sigma_q^2\sigma_k^2$ also for components with a mean ($U(0, 1)$)"
    controls = (
        wrong(points[-1], "always-one", one, 1),
        wrong(points[-1], "means-do-not-matter", spreads, UNIFORM[2] ** 2),
        biased(points[1], tolerance),
        *wrong_fits(lines, tolerance),
    )
    return Experiment(tuple(checks), controls)


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw both levels over the dimension."""
    layers = []
    for name, (query, key) in CASES.items():
        layers += [
            line(f"{query[0].name} and {key[0].name}", _level(derivation, query, key)),
            measured(findings.matching(f"{name}-variance-d*"), ""),
        ]
    return figure(
        "levels",
        "Scaling brings back the variance of one product, which need not be 1",
        "Scaled variances stay level over the dimension: at 36 for centred components with deviations 2 "
        "and 3, at 7 over 144 for uniform ones, and not at 1.",
        r"variance of $q\cdot k/\sqrt{d_k}$",
        *layers,
        line("wrong", S.One, "control"),
    )


CLAIM = Claim(
    title="Scaling brings back the variance of a single dimension",
    statement=r"For independent components of any mean and variance, $\operatorname{Var}(q\cdot "
    r"k/\sqrt{d_k})$ is the variance of one product $q_i k_i$ for every $d_k$; for centred components that "
    r"is $\sigma_q^2\sigma_k^2$.",
    meaning="The root takes the dimension out of the variance and nothing else. That scaled scores have "
    "variance 1 rests on unit components: layer normalisation or initialisation must provide them. With "
    "deviations of 2 and 3 scaled scores still have a deviation of 6, enough to saturate the softmax.",
    assumptions=(INDEPENDENT, ALIKE, FINITE_VARIANCE),
)
