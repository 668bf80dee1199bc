"""The exact density of a score of normal components."""

from collections.abc import Callable

import numpy as np
from scipy import special

from verify.former import (
    E, NORMAL, NORMAL_VECTORS, Array, Claim, Derivation, DistanceToLaw, Experiment, Figure, Findings, Ordered,
    PairShares, Quantity, Route, Simulated, Step, cell_of, characteristic, cite, d, figure, function, k, line,
    of_probability, prediction, scatter, score, score_law, wrong,
)  # fmt: skip
from verify.former.rules import (
    BesselIntegrals, DensityByTransform, DensityGiven, Unfolded, density, normal_density,
)  # fmt: skip

DIMENSIONS = (1, 2, 4, 16, 64)
GRID = 256
"""The distribution functions are compared at this number of points, of equal probability apart."""

LABEL = "largest gap between measured and exact distribution function"
f = Ordered("f(x)", "f")
x, w = score_law.x, score_law.w


def derive() -> Derivation:
    """Derive the density as a mixture of normals, and again from the characteristic function."""
    slope = density(score, x)
    by_definition = Step(slope, "The slope of the chance to be below x", Unfolded({f: slope}))
    mixture = Route.of(
        "A normal law whose variance is the squared length of the query", f, by_definition,
        Step(E(normal_density(x, score_law.SQUARES)),
             "Given the query, the score is normal with that variance",
             DensityGiven(NORMAL_VECTORS, k, score)),
        Step(score_law.MIXED, "The query's squared length is chi-square", score_law.SQUARES_ARE_CHI_SQUARE),
        Step(score_law.DENSITY, "An integral of Basset’s", BesselIntegrals(w)),
    )  # fmt: skip
    function, transform = characteristic.route("The characteristic function"), score_law.transform()
    determined = "The density with this transform; a characteristic function determines its law"
    inverted = DensityByTransform(function.proved(), transform.proved())
    by_transform = Route.of("Inverting the characteristic function", f, by_definition,
                            Step(score_law.DENSITY, determined, inverted))  # fmt: skip
    return Derivation.of(mixture, by_transform, lemmas=(function, transform))


def _equally_probable(density: Callable[..., float], dimension: int) -> Array:
    """Return positive points about equally probable apart, by interpolating the distribution function."""
    fine = np.geomspace(1e-4, 12.0, 400) * np.sqrt(dimension)
    wanted = 0.5 + np.arange(1, GRID // 2) / GRID
    return np.interp(wanted, score_law.distribution(density, fine), fine)


def _distance(upper: Array) -> DistanceToLaw:
    """Return the distance to a symmetric law, given its distribution function above 0."""
    return DistanceToLaw(tuple(map(float, np.concatenate([1 - upper[::-1], [0.5], upper]))))


def _check(dimension: int, points: Array, distance: DistanceToLaw) -> Quantity:
    grid = tuple(map(float, np.concatenate([-points[::-1], [0.0], points])))
    cell = cell_of(f"pairs-d{dimension}", Simulated(NORMAL, NORMAL, 64, 64, dimension), PairShares(grid))
    return Quantity(f"distance-d{dimension}", LABEL, cell, distance, prediction(0), of_probability(0.5))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Compare the distribution of independent scores with the integral of the derived density."""
    of_n = {n: derivation.result.subs(d, n) for n in (*DIMENSIONS, 3)}
    density = {n: function((x,), one, "scipy") for n, one in of_n.items()}
    points = {n: _equally_probable(density[n], n) for n in DIMENSIONS}

    def of(dimension: int, places: Array) -> DistanceToLaw:
        return _distance(score_law.distribution(density[dimension], places))

    checks = tuple(_check(n, points[n], of(n, points[n])) for n in DIMENSIONS)
    last, stretch = DIMENSIONS[-1], 1 + 5 * tolerance
    return Experiment(checks, (
        wrong(checks[0], "normal-law", "a score of one dimension is normal, with unit variance",
              estimand=_distance(special.ndtr(points[1]))),
        wrong(checks[1], "next-dimension", "a score of two dimensions has the law of three",
              estimand=of(3, points[2])),
        wrong(checks[-1], "stretched", "scores of {cell:d_k} dimensions are larger by five tolerances",
              estimand=of(last, points[last] / stretch)),
    ))  # fmt: skip


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the measured densities of q·k/√d at three dimensions and the derived ones through them."""
    density = function((x, d), derivation.result, "scipy")
    layers = []
    at = np.linspace(-3, 3, 121)
    for n in (1, 4, 64):
        cell, root = findings.cells[f"pairs-d{n}"], np.sqrt(n)
        edges = np.asarray(cell.sampler.statistic.grid) / root  # type: ignore[attr-defined]  # these are score pairs
        shares = findings.samples[f"pairs-d{n}"].mean
        wide = edges[5::8] - edges[1::8]  # four parts of the grid together, of every eight
        derived = [root * density(max(abs(v), 1e-3) * root, n) for v in at]
        layers += [
            scatter("", edges[1::8] + wide / 2, (shares[5::8] - shares[1::8]) / wide),
            line(f"$d_k = {n}$", derived, at=at),
        ]
    return figure(
        "densities",
        "Scores of few dimensions are sharply peaked, those of many nearly normal",
        "Measured densities of scaled scores at one, four and {distance-d64:d_k} dimensions, on the derived "
        "curves: an infinite peak at zero for one dimension, close to the normal bell for the most.",
        "density",
        *layers,
        x="{scaled_score}",
        x_scale="linear",
        y_scale="linear",
    )


CLAIM = Claim(
    title="The exact law of a score",
    statement="For independent standard normal components, {score} has the density {theorem} for positive "
    "{x}; for negative ones measurement finds the mirror image.",
    meaning="A score is not normal, even when its components are: in one dimension its density has an "
    "infinite peak at zero and heavier tails, in two it is the Laplace density, and it approaches the normal "
    "one only as dimensions are added. Intervals for normal data are therefore invalid for scores of few "
    "dimensions.",
    symbols={"x": x},
    references=cite(
        "dlmf",
        "NIST Digital Library of Mathematical Functions, 10.32.11 (Basset's integral).",
        "https://dlmf.nist.gov/10.32",
    ),
)
