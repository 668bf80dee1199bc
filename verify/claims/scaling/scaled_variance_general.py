"""After dividing by the root of the dimension the variance is that of a single product."""

from sympy import sqrt

from verify.spec import CENTRED, GENERAL, NORMAL, UNIT_INTERVAL, Chain, Check, Claim, Derivation, Figure
from verify.spec import Findings, Fit, Items, Line, Sum, Var, Wrong, a, d, earlier, i, j, k, moments
from verify.spec import figures as drawing
from verify.spec import mu_k, mu_q, q, score, sigma_k, sigma_q

DIMENSIONS = (1, 8, 64, 256)
CASES = {
    "centred": {q: NORMAL.moved(0, 2), k: NORMAL.moved(0, 3)},
    "uniform": {q: UNIT_INTERVAL, k: UNIT_INTERVAL},
}
scaled, product = score / sqrt(d), q[a, i] * k[j, i]


def derive() -> tuple[Chain, ...]:
    """Derive that the scaled variance is that of one product, and what that is."""
    restored = Chain(
        Var(scaled),
        Line(Sum(Var(product), (i, 1, d)) / d, "different products are independent", moments(GENERAL)),
        Line(Var(product), "all of them have the same variance", moments(GENERAL)),
    )
    level = Chain(
        Var(scaled),
        Line(Var(product), "the variance of one product", earlier(restored)),
        Line(
            sigma_q**2 * sigma_k**2 + mu_q**2 * sigma_k**2 + mu_k**2 * sigma_q**2,
            "query and key are independent",
            moments(GENERAL),
        ),
        name="level",
        title="In means and variances",
    )
    centred = Chain(
        Var(scaled),
        Line(sigma_q**2 * sigma_k**2, "without means one term is left", moments(CENTRED)),
        name="centred",
        title="For centred components",
    )
    return restored, level, centred


def experiment(derived: Derivation) -> Items:
    """Measure it for centred components of unequal spread, and for components from U(0, 1)."""
    level = derived["level"].end
    for name, laws in CASES.items():
        for size in DIMENSIONS:
            control = "biased-prediction" if (name, size) == ("uniform", 8) else ""
            at = {d: size}
            yield Check(f"{name}-variance-d{size}", Var(scaled), at, equals=level, laws=laws, control=control)
        yield Fit(f"{name}-variance-d*", over=d, law=level, only=("slope",), prefix=f"{name}-")
    at, uniform, centred = {d: 256}, CASES["uniform"], derived["centred"].end
    says = "scaling makes the variance {value}, whatever the components, here uniform ones"
    yield Wrong("always-one", Var(scaled), at, equals=1, laws=uniform, says=says)
    says = "it is {centred:end} also for components with a mean, here uniform ones"
    yield Wrong("means-do-not-matter", Var(scaled), at, equals=centred, laws=uniform, says=says)


def figures(findings: Findings) -> Figure:
    """Draw both levels over the dimension."""
    layers = []
    for name, laws in CASES.items():
        points = findings.matching(f"{name}-variance-d*")
        words = f"{laws[q].name} and {laws[k].name}"
        layers += [drawing.expected(points, d, words), drawing.measured(points, d)]
    return drawing.figure(
        "levels",
        "Scaling brings back the variance of one product, which need not be 1",
        "Scaled variances stay level over the dimension: at {centred-variance-d1:prediction} for centred "
        "components of unequal spread, at {uniform-variance-d1:prediction.3} for uniform ones, not at 1.",
        *layers,
        drawing.curve("wrong", lambda _: 1.0, DIMENSIONS, "control"),
        x=d,
        y="variance of {scaled_score}",
    )


CLAIM = Claim(
    title="Scaling restores the variance of a single dimension",
    statement="For independent components of any mean and variance, {main}, the variance of one product, for "
    "every {d_k}; for centred components that is {centred:end}.",
    meaning="The root takes the dimension out of the variance and nothing else. That scaled scores have "
    "variance 1 rests on components of variance 1: layer normalisation or initialisation must provide them. "
    "With standard deviations of 2 and 3 the variance of scaled scores is {centred-variance-d64:prediction}, "
    "enough for the softmax to put most of its weight on a few keys.",
)
