"""The law of a score of normal components: its numbers, and shares of scores that are held against it."""

import math

import numpy as np
import pytest
from scipy import integrate
from sympy import lambdify

from verify.montecarlo.distributions import NORMAL
from verify.montecarlo.quantities import PAIRS, of_pairs
from verify.spec import Check, Derivation, LargestGap, d, k, q
from verify.spec.experiment import experiment_of
from verify.spec.comparisons import value_of
from verify.spec.lemmas import BELOW, DENSITY, SHARE, below, distribution, x, z

POINTS = (-3.0, -0.5, 0.0, 1.0, 2.0)


def gap(dimension: int) -> LargestGap:
    """Return the largest gap from the law of so many dimensions, at five points."""
    return LargestGap(SHARE, x, POINTS, tuple(below(dimension, point) for point in POINTS))


@pytest.mark.parametrize("dimension", [1, 2, 5, 64])
def test_mixture_and_density_are_one_law(dimension: int) -> None:
    """The integral over lengths is its trapezoid sum, and what the density comes to from 0 on."""
    point = 0.7 * dimension**0.5
    assert value_of(BELOW.subs({x: point, d: dimension})) == pytest.approx(below(dimension, point), abs=1e-11)
    area, _ = integrate.quad(lambdify(z, DENSITY.subs(d, dimension), "scipy"), 0, point, epsabs=1e-13)
    assert 0.5 + area == pytest.approx(below(dimension, point), abs=1e-9)


def test_rare_scores_are_as_rare_as_they_are() -> None:
    """Far out in the law of 16 and of 256 dimensions, by mpmath's quadrature in 30 digits."""
    point = math.log(65520)
    assert below(16, -4 * point) == pytest.approx(3.0843330941532e-14, rel=1e-11)
    assert below(256, -16 * point) == pytest.approx(8.7954700274717e-25, rel=1e-11)


def test_shares_are_those_of_each_query_with_its_own_key() -> None:
    """As NumPy counts them, in the same draws."""
    cell, estimands = of_pairs("pairs", {"gap": gap(3)}, {q: NORMAL, k: NORMAL}, {d: 3})
    shares = cell.sample(np.random.default_rng(1), 5)
    drawn = cell.draws(np.random.default_rng(1), 5)
    scores = (drawn["q"] * drawn["k"]).sum(axis=2)
    assert scores.shape == (5, PAIRS)
    assert shares == pytest.approx(np.stack([(scores < point).mean(axis=1) for point in POINTS], axis=1))
    assert set(estimands) == {"gap"}
    assert (cell.order, cell.scores) == (1, PAIRS)


def test_the_law_of_a_chain_is_derived_and_another_is_not() -> None:
    """A check against the chain's end is derived; against the law of one dimension more it is not."""
    checks = (Check("right", gap(3), {d: 3}, equals=0), Check("wrong", gap(4), {d: 3}, equals=0))
    right, wrong = experiment_of(checks, Derivation.of(distribution()), 0.01).checks
    assert [right.prediction.origin, wrong.prediction.origin] == ["derived", "computed"]
