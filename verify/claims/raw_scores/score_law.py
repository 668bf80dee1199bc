"""The exact law of a score."""

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import scipy

from verify.spec import Chain, Check, Claim, Derivative, Items, LargestGap, Wrong, cite, d, derivative
from verify.spec import earlier, lambdify, numerically, of_probability
from verify.spec.lemmas import BELOW, DENSITY, MIXTURE, SHARE, below, distribution, x, z

# Points of comparison are about a part in GRID of the probability apart.
DIMENSIONS, GRID = (1, 2, 4, 16, MOST := 64), 256


def derive() -> tuple[Chain, ...]:
    below_x = distribution()
    return below_x, Chain(Derivative(SHARE.subs(x, z), z)).through(
        (Derivative(BELOW.subs(x, z), z), "its distribution function", earlier(below_x, at={x: z})),
        (MIXTURE, "differentiated: a mixture of normal densities", derivative()),
        (DENSITY, "an integral for the modified Bessel function", numerically()),
    )


@cache
def points_of(dimension: int) -> Any:
    """Return positive points that are about equally probable apart."""
    fine = np.geomspace(1e-4, 12.0, 400) * np.sqrt(dimension)
    return np.interp(0.5 + np.arange(1, GRID // 2) / GRID, [below(dimension, at) for at in fine], fine)


def experiment(tolerance: float) -> Items:
    def from_density(dimension: int, points: Any) -> Any:
        function, ends = lambdify(z, DENSITY.subs(d, dimension), "scipy"), pairwise((0.0, *points))
        return 0.5 + np.cumsum([scipy.integrate.quad(function, *pair, epsabs=1e-13)[0] for pair in ends])

    def gap(dimension: int, above: Any) -> LargestGap:
        points = points_of(dimension)
        places, values = [*-points[::-1], 0, *points], [*(1 - above[::-1]), 0.5, *above]
        return LargestGap(SHARE, x, *(tuple(map(float, numbers)) for numbers in (places, values)))

    given: dict[str, Any] = {"equals": 0, "tolerance": of_probability(0.5)}
    for size in DIMENSIONS:
        yield Check(f"distance-d{size}", gap(size, from_density(size, points_of(size))), {d: size}, **given)
    three, larger = from_density(3, points_of(2)), points_of(MOST) / (1 + 5 * tolerance)
    stretched = from_density(MOST, larger)
    for name, size, law, says in (
        ("normal-law", 1, scipy.special.ndtr(points_of(1)), "a score of one dimension is normal"),
        ("next-dimension", 2, three, "a score of two dimensions has the law of three"),
        ("stretched", MOST, stretched, "scores of {cell:d_k} dimensions are larger by five tolerances"),
    ):
        yield Wrong(name, gap(size, law), {d: size}, says=says, **given)


CLAIM = Claim(
    statement="For independent standard normal components, {score} has the density {main:end} at positive "
    "{z}; at negative ones measurement finds the mirror image.",
    meaning="A score is not normal, even when its components are: in one dimension its density has an "
    "infinite peak at 0 and heavier tails, in two it is the Laplace density, and it approaches the normal "
    "one only as dimensions are added. Intervals for normal data are invalid for scores of few dimensions.",
    references=cite("dlmf"),
)
