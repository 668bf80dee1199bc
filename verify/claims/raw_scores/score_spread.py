"""Histograms of scores widen with the dimension."""

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np
import scipy

from verify.spec import GENERAL, NORMAL, UNIT_INTERVAL, Chain, Check, Claim, Derivation, E, Figure, Findings
from verify.spec import Integral, Items, LargestGap, Quantile, Rational, Symbol, Var, Within, Wrong, a, d
from verify.spec import figures as draw, i, integral, j, k, lambdify, log, moments, mu_k, mu_q, of_probability
from verify.spec import q, score, sigma_k, sigma_q
from verify.spec.lemmas import SHARE, below, distribution, x

LEVEL = Rational(95, 100)
POINT = Quantile(score, LEVEL) - E(score)  # the 95% point of scores, above their mean
BIN = 0.25
# The ends of the bins of the histograms, in standard deviations from the mean.
EDGES = np.arange(-4 - BIN / 2, 4 + BIN, BIN)
CELLS = 2048  # into which (0, 1) is cut to convolve the law of a product numerically
u, v = (Symbol(name, positive=True) for name in "uv")
PRODUCT = u - u * log(u)  # P(xy ≤ u) for independent x and y from U(0, 1)
SIZES = {"normal": (2, 100), "uniform": (3, 100, 1000)}
LAWS = {"normal": NORMAL, "uniform": UNIT_INTERVAL}
# The standard deviation of a single product of components.
DEVIATION = {"normal": 1.0, "uniform": np.sqrt(7) / 12}


def derive() -> tuple[Chain, ...]:
    spread = sigma_q**2 * sigma_k**2 + mu_q**2 * sigma_k**2 + mu_k**2 * sigma_q**2
    variance = Chain(Var(score)).through(
        (d * Var(q[a, i] * k[j, i]), "variances of independent products add up", moments(GENERAL)),
        (d * spread, "that of one product, by the means and variances of its factors", moments(GENERAL)),
    )
    # A product is at most u where the query v is below u; elsewhere the key has to be at most u/v.
    rest, title = Integral(u / v, (v, u, 1)), "How often a product of two components is below u"
    product = Chain(u + rest, name="product", title=title, given=(u < 1,))
    return variance, product.then(PRODUCT, "integrated", integral(u * log(v), given=(u < 1,))), distribution()


@cache
def uniform_law(dimension: int) -> tuple[Any, Any]:
    """Return distances from the mean and the probabilities up to there, for components from U(0, 1)."""
    # The law of a product, in cells of (0, 1), is convolved with itself numerically.
    probabilities = np.diff(lambdify(u, PRODUCT)(np.linspace(0, 1, CELLS + 1)[1:]), prepend=0)
    # A cell's numbers lie half a cell above its lower edge on average, up to the curvature of the density.
    centre = float(np.sum(np.arange(CELLS) * probabilities)) / CELLS
    size = dimension * CELLS
    cumulative = np.cumsum(np.fft.irfft(np.fft.rfft(probabilities, size) ** dimension, size))
    return (np.arange(size) + 0.5) / CELLS - dimension * centre, cumulative


@cache
def point(name: str, dimension: int) -> float:
    """Return the 95% point above the mean, of the exact law."""
    law, deviation = partial(below, dimension), DEVIATION[name] * np.sqrt(dimension)
    if name == "uniform":
        law = partial(np.interp, xp=uniform_law(dimension)[0], fp=uniform_law(dimension)[1])
    ends = 0.1 * deviation, 4 * deviation
    return float(scipy.optimize.brentq(lambda above: float(law(above)) - float(LEVEL), *ends))


def experiment(derived: Derivation) -> Items:
    far_out = Within(3.0, because="few scores lie near a point so far out", fixed=True)
    cheap = Within(3.0, because="a narrower one would need more draws than the 95% points", fixed=True)
    for name, size in ((name, size) for name, sizes in SIZES.items() for size in sizes):
        at, laws, control = {d: size}, dict.fromkeys((q, k), LAWS[name]), (name, size) == ("normal", 100)
        own, exact = f"{name}-point-d{size}", point(name, size)
        yield Check(own, POINT, at, equals=exact, laws=laws, tolerance=far_out, control=control)
        yield Check(f"{name}-variance-d{size}", derived, at, laws=laws, tolerance=cheap)
    for size in SIZES["normal"]:
        points = tuple(map(float, EDGES * np.sqrt(size)))
        law = LargestGap(SHARE, x, points, tuple(below(size, place) for place in points))
        yield Check(f"normal-law-d{size}", law, {d: size}, equals=0, tolerance=of_probability())
    says = "its width grows in proportion to the dimension"
    yield Wrong("proportional-width", POINT, {d: 100}, equals=50 * point("normal", 2), says=says)


def figures(findings: Findings) -> Iterator[Figure]:
    places, half = np.linspace(EDGES[0], EDGES[-1], 201), BIN / 2
    for name, axis, title in (
        ("histograms", "{score}", "Scores spread wider in more dimensions"),
        ("scaled-histograms", "{scaled_score}", "Divided by {root_d}, scores have one width"),
    ):
        layers = []
        for size in SIZES["normal"]:
            deviation, shares = np.sqrt(size), np.diff(findings.samples[f"pairs-d{size}"].mean)
            low, high = ([below(size, deviation * (at + side)) for at in places] for side in (-half, half))
            drawn = deviation if axis == "{score}" else 1.0
            layers.append(draw.layer("line", "exact law", places * drawn, np.subtract(high, low), "truth"))
            layers.append(draw.layer("steps", f"$d_k = {size}$", EDGES * drawn, [*shares, 0], "measured"))
        y = "share of scores, in bins of a quarter deviation"
        yield draw.figure(name, title, *layers, x=axis, y=y, linear="xy")


CLAIM = Claim(
    statement="Let all components be independent, those of queries with one law and those of keys with "
    "another, both of finite variance. Then {main}, so that the width of a histogram, its standard "
    "deviation, grows like {root_d}.",
    meaning="What the eye sees in histograms of dot products is right: in more dimensions they are wider, by "
    "the root of the ratio of the dimensions, not by that ratio. The point above which 5% of scores lie, "
    "taken from their mean, is computed and measured: for standard normal components "
    "{normal-point-d2:prediction.3} in 2 dimensions and {normal-point-d100:prediction.3} in 100, for uniform "
    "ones between 0 and 1, {uniform-point-d3:prediction.2} in 3, {uniform-point-d100:prediction.3} in 100 "
    "and {uniform-point-d1000:prediction.3} in 1000.",
)
