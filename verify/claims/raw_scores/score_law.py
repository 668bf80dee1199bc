"""The exact density of a score of normal components."""

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import integrate, special
from sympy import Derivative, Integral, Symbol, cos, exp, lambdify, oo

from verify.spec import Chain, Check, Claim, Derivation, Figure, Findings, Items, LargestGap, Wrong, cite
from verify.spec import cited, d, derivative, earlier, figures as draw, integral, of_probability
from verify.spec.score_law import BELOW, CHI_SQUARE, DENSITY, MIXTURE, SHARE
from verify.spec.score_law import basset, below, characteristic, distribution, of_normals, w, x, z

DIMENSIONS = (1, 2, 4, 16, 64)
GRID = 256
"""The distribution functions are compared at points that are about this part of the probability apart."""

t = Symbol("t", real=True)


def derive() -> tuple[Chain, ...]:
    """Derive the density as a mixture of normal ones, and again from the characteristic function."""
    below_x, mixture = distribution(), basset()
    density = (
        Chain(Derivative(SHARE.subs(x, z), z))
        .then(Derivative(BELOW.subs(x, z), z), "its distribution function", earlier(below_x, at={x: z}))
        .then(MIXTURE, "differentiated: a mixture of normal densities", derivative())
        .then(DENSITY, "an integral of Basset’s", earlier(mixture))
    )
    over_scores, over_lengths = (z, 0, oo), (w, 0, oo)
    transform = (
        Chain(
            2 * Integral(DENSITY * cos(t * z), over_scores),
            name="transform",
            title="The transform of a symmetric law with this density",
        )
        .then(2 * Integral(MIXTURE * cos(t * z), over_scores), "as a mixture", earlier(mixture))
        .then(
            Integral(2 * MIXTURE.function * cos(t * z), over_scores, over_lengths),
            "in the other order",
            cited("fubini"),
        )
        .then(Integral(CHI_SQUARE * exp(-(t**2) * w / 2), over_lengths), "over $z$", integral(given=(t > 0,)))
        .then((1 + t**2) ** (-d / 2), "over $w$", integral(given=(t > 0,)))
    )
    again = Chain(
        density.start,
        name="again",
        title="The density by its characteristic function, which determines a law",
    ).then(DENSITY, "the law with this characteristic function", of_normals("fourier"))
    return below_x, mixture, density, *characteristic(), transform, again


@cache
def points_of(dimension: int) -> Any:
    """Return positive points that are about equally probable apart."""
    fine = np.geomspace(1e-4, 12.0, 400) * np.sqrt(dimension)
    return np.interp(0.5 + np.arange(1, GRID // 2) / GRID, [below(dimension, at) for at in fine], fine)


def from_density(density: Any, dimension: int, points: Any) -> Any:
    """Return the distribution function at increasing positive points, integrated from 0 on."""
    function, ends = lambdify(z, density.subs(d, dimension), "scipy"), pairwise((0.0, *points))
    return 0.5 + np.cumsum([integrate.quad(function, *between, epsabs=1e-13)[0] for between in ends])


def gap(points: Any, above: Any) -> LargestGap:
    """Return the largest gap from a symmetric law, given its distribution function at positive points."""
    places = -points[::-1], (0.0,), points
    values = 1 - above[::-1], (0.5,), above
    return LargestGap(SHARE, x, *(tuple(map(float, np.concatenate(parts))) for parts in (places, values)))


def experiment(derived: Derivation, tolerance: float) -> Items:
    """Compare the distribution of independent scores with the integral of the derived density."""
    points, near = {size: points_of(size) for size in DIMENSIONS}, of_probability(0.5)
    for size in DIMENSIONS:
        law = from_density(derived.end, size, points[size])
        yield Check(f"distance-d{size}", gap(points[size], law), {d: size}, equals=0, tolerance=near)
    last = DIMENSIONS[-1]
    for name, size, law, says in (
        ("normal-law", 1, special.ndtr(points[1]), "a score of one dimension is normal, with unit variance"),
        (
            "next-dimension",
            2,
            from_density(derived.end, 3, points[2]),
            "a score of two dimensions has the law of three",
        ),
        (
            "stretched",
            last,
            from_density(derived.end, last, points[last] / (1 + 5 * tolerance)),
            "scores of {cell:d_k} dimensions are larger by five tolerances",
        ),
    ):
        yield Wrong(name, gap(points[size], law), {d: size}, equals=0, tolerance=near, says=says)


def figures(derived: Derivation, findings: Findings) -> Figure:
    """Draw the measured densities of q·k/√d at three dimensions and the derived ones through them."""
    layers, at = [], np.linspace(-3, 3, 121)
    for size in (1, 4, 64):
        root, shares = np.sqrt(size), findings.samples[f"pairs-d{size}"].mean
        positive = points_of(size) / root
        edges = np.concatenate([-positive[::-1], [0], positive])
        wide = edges[5::8] - edges[1::8]  # four parts of the grid together, of every eight
        function = lambdify(z, derived.end.subs(d, size), "scipy")
        curve = [root * float(function(max(abs(place), 1e-3) * root)) for place in at]
        layers += [
            draw.dots("measured", edges[1::8] + wide / 2, (shares[5::8] - shares[1::8]) / wide),
            draw.joined(f"$d_k = {size}$", at, curve),
        ]
    return draw.figure(
        "densities",
        "Scores of few dimensions are sharply peaked, those of many nearly normal",
        "Measured densities of scaled scores at one, four and {distance-d64:d_k} dimensions, on the derived "
        "curves: an infinite peak at zero for one dimension, close to the normal bell for the most.",
        *layers,
        x="{scaled_score}",
        y="density",
        x_scale="linear",
        y_scale="linear",
    )


CLAIM = Claim(
    title="The exact law of a score",
    statement="For independent standard normal components, {score} has the density {main:end} at positive "
    "{z}; at negative ones measurement finds the mirror image.",
    meaning="A score is not normal, even when its components are: in one dimension its density has an "
    "infinite peak at 0 and heavier tails, in two it is the Laplace density, and it approaches the normal "
    "one only as dimensions are added. Intervals for normal data are therefore invalid for scores of few "
    "dimensions.",
    symbols={"z": z},
    references=cite("dlmf"),
)
