"""Raw scores: what the chapter computes by itself, a second time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize
from sympy import Rational

from verify.claims.limits.half_precision import _tail
from verify.claims.raw_scores import score_magnitude
from verify.claims.raw_scores.score_normal_limit import _largest_gap
from verify.claims.raw_scores.score_spread import LEVEL, _normal_point, _uniform_point
from verify.claims.raw_scores.worked_dot_products import _p_value
from verify.montecarlo.distributions import UNIT_INTERVAL
from verify.montecarlo.inputs import SharedVectors
from verify.montecarlo.statistics import AllPairs, Reduced
from verify.symbolic.law import below
from verify.symbolic.scores import d


def test_both_bounds_are_theorems() -> None:
    """From above for the mean size, from below for its value, in every dimension."""
    *_, above, below = (one.proved() for one in score_magnitude.derive().lemmas)
    assert (above.relation, below.relation) == ("≤", "≤")
    for dimension in (1, 2, 3, 64):
        most, size, least = (float(one.subs(d, dimension)) for one in (above.rhs, below.rhs, below.lhs))
        assert least < size < most
        assert size / least < 1 + Rational(1, dimension)


_MEAN = 1 / 4
"""Of one product of components from U(0, 1)."""


def inverted(dimension: int) -> float:
    """Return the 95% point above the mean by the Gil-Pelaez formula, which convolves nothing."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    x, w = (nodes + 1) / 2, weights / 2
    spread = (dimension * 7 / 144) ** 0.5
    step = 0.02 / spread
    t = (np.arange(2000) + 0.5) * step
    # E exp(itxy) given x is (exp(itx) - 1)/(itx).
    z = 1j * np.outer(t, x)
    centred = np.exp(dimension * (np.log((np.expm1(z) / z) @ w) - 1j * t * _MEAN))

    def excess(point: float) -> float:
        waves = np.imag(np.exp(-1j * t * point) * centred) / t
        return float(0.5 - waves.sum() * step / np.pi - LEVEL)

    return float(optimize.brentq(excess, spread, 2.5 * spread))


@pytest.mark.parametrize("dimension", [100, 1000])
def test_the_convolved_point_is_that_of_the_inverted_function(dimension: int) -> None:
    """Two numerical routes agree to five digits; a normal law in its place would not."""
    assert _uniform_point(dimension) == pytest.approx(inverted(dimension), rel=1e-5)
    normal = 1.6448536 * (dimension * 7 / 144) ** 0.5
    assert abs(normal / inverted(dimension) - 1) > 1e-3


def test_the_point_of_two_normal_components_is_laplace() -> None:
    """In two dimensions five in a hundred scores lie beyond log 10."""
    assert _normal_point(2) == pytest.approx(np.log(10), rel=1e-9)


def test_rounded_words_are_right() -> None:
    """What the texts say in words: thirds, three quarters, one in five or six, two thousandths."""
    assert 0.28 < 2 * below(64, -8.0) < 1 / 3, "almost a third of scaled scores beyond 1"
    assert pytest.approx(3 / 4) == (7 / 144) / (1 / 36) - 1, "overstates by three quarters"
    assert 1 / 6 < _p_value(2) < 1 / 5, "about one in five or six trials"
    assert _largest_gap(64) == pytest.approx(0.002, abs=0.0005), "about two thousandths"
    assert max(_tail(n, -0.5) for n in (16, 64, 256)) < 1e-13, "less than one in 10^13"


@pytest.mark.parametrize(("dimension", "scatter"), [(1, 0.14), (8, 0.125)])
def test_a_single_run_of_the_popular_experiment_scatters(dimension: int, scatter: float) -> None:
    """By 12 to 14%, of which 4950 independent pairs would leave far less."""
    blocks = Reduced(SharedVectors(UNIT_INTERVAL, 100, dimension), AllPairs()).sample(
        np.random.default_rng(1), 4000
    )
    found = blocks[:, 0] - blocks[:, 1]
    assert found.std() / found.mean() == pytest.approx(scatter, abs=0.01)
