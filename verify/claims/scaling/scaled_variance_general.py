"""After dividing by the root of the dimension the variance is that of a single product."""

from sympy import S, sqrt

from verify.former import (
    CENTRED, GENERAL, NORMAL, UNIFORM_COMPONENTS, Claim, Comparison, Components, Derivation, Experiment,
    Figure, Findings, Step, Var, biased, d, evaluate, figure, fits, fitting, for_components, line, measured,
    one_product, score, score_cell, variance_route, variances, wrong, wrong_fits,
)  # fmt: skip
from verify.former.rules import Evaluation

DIMENSIONS = (1, 8, 64, 256)
LABEL = r"$\operatorname{Var}(q\cdot k/\sqrt{d_k})$"
CASES = {
    "centred": (Components(NORMAL.moved(0, 2), S(0), S(4)), Components(NORMAL.moved(0, 3), S(0), S(9))),
    "uniform": (UNIFORM_COMPONENTS, UNIFORM_COMPONENTS),
}


def derive() -> Derivation:
    """Derive the scaled variance for any means, and that it is the variance of one product."""
    scaled = score / sqrt(d)
    backwards = "which is the variance of one product"
    whole = variance_route(scaled, GENERAL).then(
        Step(Var(one_product()), backwards, Evaluation(GENERAL, assumed=True))
    )
    centred = variance_route(scaled, CENTRED, "For centred components").called("centred")
    return Derivation.of(whole, lemmas=(centred,))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure it for centred components of unequal spread, and for components from U(0, 1)."""
    checks, slopes = list[Comparison](), {}
    for name, (query, key) in CASES.items():
        level = for_components(evaluate(derivation.result, GENERAL), query, key)
        laws, prefix = (query.distribution, key.distribution), f"{name}-"
        cells = [score_cell(n, *laws, tolerance, scale=1 / sqrt(d), prefix=prefix) for n in DIMENSIONS]
        points = variances(cells, f"{LABEL}, {laws[0].name} and {laws[1].name} components", level)
        slopes[name] = fits(points, fitting.no_slope(level, DIMENSIONS[-1], prefix))
        checks += [*points, *slopes[name]]
    return Experiment(tuple(checks), (
        wrong(points[-1], "always-one",
              "scaling makes the variance {value}, whatever the components, here uniform ones", 1),
        wrong(points[-1], "means-do-not-matter",
              "it is {centred:result} also for components with a mean, here uniform ones",
              UNIFORM_COMPONENTS.variance**2),
        biased(points[1], tolerance),
        *wrong_fits(slopes["centred"], tolerance),
    ))  # fmt: skip


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw both levels over the dimension."""
    layers, of_product = [], evaluate(derivation.result, GENERAL)
    for name, (query, key) in CASES.items():
        words = f"{query.distribution.name} and {key.distribution.name}"
        layers.append(line(words, for_components(of_product, query, key)))
        layers.append(measured(findings.matching(f"{name}-variance-d*"), ""))
    return figure(
        "levels",
        "Scaling brings back the variance of one product, which need not be one",
        "Scaled variances stay level over the dimension: at {centred-variance-d1:prediction} for centred "
        "components of unequal spread, at {uniform-variance-d1:prediction.3} for uniform ones, not at one.",
        "variance of {scaled_score}",
        *layers,
        line("wrong", S.One, "control"),
    )


CLAIM = Claim(
    title="Scaling restores the variance of a single dimension",
    statement="For independent components of any mean and variance, {theorem:subject} is {theorem:result}, "
    "the variance of one product, for every {d_k}; for centred components that is {centred:result}.",
    meaning="The root takes the dimension out of the variance and nothing else. That scaled scores have unit "
    "variance rests on components of unit variance: layer normalisation or initialisation must provide them. "
    "With standard deviations of two and three the variance of scaled scores is "
    "{centred-variance-d64:prediction}, enough to saturate the softmax.",
)
