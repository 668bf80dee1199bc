"""E[q·k] = 0 for independent centred components."""

from fractions import Fraction
from math import sqrt

from verify.spec import CENTRED, GENERAL, NORMAL, Chain, Check, Claim, Derivation, E, Figure, Findings, Items
from verify.spec import Line, Sum, Wrong, a, algebra, d, figures as drawing, i, j, k, moments, mu_k, mu_q
from verify.spec import of_deviation, q, score

DIMENSIONS = (1, 8, 64, 512, 1024)
OFF_CENTRE = NORMAL.moved(Fraction(1, 2), 1)
"""Normal components with mean ½ and variance 1."""


def derive() -> tuple[Chain, ...]:
    """Derive the mean by linearity and independence, for centred components and for any."""
    products = Sum(E(q[a, i] * k[j, i]), (i, 1, d))
    means = Sum(E(q[a, i]) * E(k[j, i]), (i, 1, d))
    return (
        Chain(
            E(score),
            Line(products, "the mean of a sum is the sum of the means", algebra),
            Line(means, "components of a query are independent of those of a key", moments(CENTRED)),
            Line(0, "their means are 0", moments(CENTRED)),
        ),
        Chain(
            E(score),
            Line(means, "linearity and independence, as before", moments(GENERAL)),
            Line(d * mu_q * mu_k, "every dimension adds the same", moments(GENERAL)),
            name="any-means",
            title="For components of any mean",
        ),
    )


def experiment(derived: Derivation) -> Items:
    """Measure the mean; its scale is √d_k, the size of a typical score, because the mean itself is 0."""
    for size in DIMENSIONS:
        control = "biased-prediction" if size == 64 else ""
        within = of_deviation(size, 0.5)
        yield Check(
            f"mean-d{size}", derived.start, {d: size}, equals=derived.end, tolerance=within, control=control
        )
    laws = {q: OFF_CENTRE, k: OFF_CENTRE}
    yield Check("off-centre-d8", derived.start, {d: 8}, equals=derived["any-means"].end, laws=laws)
    what = "the mean is {main:end} even for components that are not centred"
    within = of_deviation(8, 0.5)
    yield Wrong("shifted-mean", derived.start, {d: 8}, equals=0, laws=laws, tolerance=within, says=what)


def figures(findings: Findings) -> Figure:
    """Draw the mean as a fraction of √d_k with its interval and the tolerance."""
    width = findings.checks["mean-d1"].tolerance
    ends = DIMENSIONS[0], DIMENSIONS[-1]
    return drawing.figure(
        "mean-over-root",
        "Scores average to zero in every dimension",
        "The measured mean of q·k divided by the square root of the dimension stays at 0, inside the "
        "tolerance, from {mean-d1:d_k} to {mean-d1024:d_k} dimensions.",
        drawing.joined("derived: {main:end}", ends, (0, 0)),
        drawing.joined("tolerance", ends, (width, width), "other"),
        drawing.joined("", ends, (-width, -width), "other"),
        drawing.measured(findings.matching("mean-d*"), d, as_drawn=lambda size, mean: mean / sqrt(size)),
        x=d,
        y="mean of {score} over {root_d}",
        y_scale="linear",
    )


CLAIM = Claim(
    title="Scores average to zero",
    statement="For independent centred components, {main} in every dimension.",
    meaning="Scores balance out around 0: what grows with the dimension is their spread, not their mean. "
    "Only one of the two vectors need be centred. Where neither is (say, after a ReLU), the mean "
    "grows like the dimension itself: {any-means} for components with means {mu_q} and {mu_k}.",
    symbols={"mu_q": mu_q, "mu_k": mu_k},
)
