"""Modern and newer variants of attention: statistics, rounding and recovered scales by loops and by hand."""

import math

import numpy as np
import pytest
from scipy import optimize

from tests.catalogue import experiment
from tests.montecarlo.samples import generator
from verify.claims.modern import rotary_positions, soft_cap
from verify.claims.modern.attention_sink import beside_sink
from verify.claims.newer import scalable_softmax
from verify.claims.newer.adaptive_temperature import factor_at
from verify.claims.newer.score_clip import clipped, distance_from_temperature
from verify.montecarlo.attention import softmax

RNG = np.random.default_rng(18)


def predicted(claim: str, check: str) -> float:
    """Return what a check of a claim predicts."""
    return next(one.prediction.value for one in experiment(claim).checks if one.id == check)


@pytest.mark.parametrize("distance", [0, 1, 10])
def test_rotary_moments_by_matrices(distance: int) -> None:
    """Mean, and the variance tr(Σ_q R Σ_k Rᵀ) + |μ_q|² + |μ_k|², with rotations as plain matrices."""
    mean_q, mean_k = np.array(rotary_positions.MEANS)
    own = np.array([[1, rotary_positions.MIXED], [rotary_positions.MIXED, 1]])
    mean = variance = mixed = 0.0
    for place in range(rotary_positions.PAIRS):
        angle = -distance * 10000 ** (-place / rotary_positions.PAIRS)
        turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
        mean += mean_q @ turn @ mean_k
        variance += 2 + mean_q @ mean_q + mean_k @ mean_k
        mixed += np.trace(own @ turn @ own @ turn.T)
    for check, value in (("mean", mean), ("variance", variance), ("correlated", mixed)):
        assert predicted("rotary-positions", f"{check}-at{distance}") == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("cap", [1, 4])
def test_what_a_cap_takes_of_drawn_scores(cap: int) -> None:
    """Within six standard errors of plain draws; and below the bound for a law with much heavier tails."""
    scores = np.einsum("ij,ij->i", *RNG.normal(size=(2, 200_000, soft_cap.D))) / soft_cap.D**0.5
    lost = scores**2 - (cap * np.tanh(scores / cap)) ** 2
    exact = predicted("soft-cap", f"lost-c{cap}")
    assert abs(lost.mean() - exact) < 6 * lost.std() / len(lost) ** 0.5
    heavy = RNG.standard_t(5, 1000)
    assert np.all(heavy**2 - (cap * np.tanh(heavy / cap)) ** 2 <= 2 * heavy**4 / (3 * cap**2))


def test_heads_of_one_dimension_share_a_key_by_hand() -> None:
    """Cov(q²k², q'²k²) = E k⁴ - 1 = 2 and Var(q²k²) = 9 - 1, for normal q, q' and k."""
    assert predicted("grouped-queries", "squares-d1") == pytest.approx(2 / 8)


def test_where_yarns_factor_takes_back_all() -> None:
    """(1 + ℓ/10)⁴ meets 1 + ℓ between the two points that the claim compares."""
    crossing = optimize.brentq(lambda at: (1 + at / 10) ** 4 - 1 - at, 1, 10)
    assert 6.6 < crossing < 6.7
    assert math.exp(6.6) == pytest.approx(735, abs=1)


def test_a_sink_is_one_key_more_without_a_value() -> None:
    """Weights are exponentials over the sum of all and the sink's; alone it leaves nothing or all."""
    scores = RNG.normal(size=(3, 4))
    expected = [[math.exp(one) / (sum(map(math.exp, row)) + math.e) for one in row] for row in scores]
    assert beside_sink(scores, 1.0) == pytest.approx(np.array(expected))
    assert beside_sink(scores, -np.inf) == pytest.approx(softmax(scores))
    assert beside_sink(scores, 800.0) == pytest.approx(0.0)


def test_the_mean_weight_of_a_leader_is_that_of_draws() -> None:
    """The integral agrees with ten thousand rows within five standard errors."""
    leads = scalable_softmax.LEAD + float(scalable_softmax.WIDTH) * generator().random((10_000, 9))
    weights = 1 / (1 + (10.0 ** (-float(scalable_softmax.FACTOR) * leads)).sum(axis=1))
    exact = scalable_softmax.mean_of_leader(10)
    assert abs(weights.mean() - exact) < 5 * weights.std() / 100


def test_the_published_factor_by_hand() -> None:
    """One above where the polynomial is below, the polynomial elsewhere."""
    assert factor_at(np.array([0.0, math.log(1024)])).tolist() == [1, 1]
    by_hand = -0.037 * 16 + 0.481 * 8 - 2.3 * 4 + 4.917 * 2 - 1.791
    assert factor_at(np.array(2.0)) == pytest.approx(by_hand)


def test_clipping_bounds_the_largest_score_alone() -> None:
    """At the level if it was above it, untouched if not; what is far below stays there."""
    queries, keys = RNG.normal(size=(2, 6, 4))
    scores = queries @ keys.T
    level = scores.max() / 3
    assert clipped(queries, keys, level).max() == pytest.approx(level)
    assert clipped(queries, keys, 2 * scores.max()) == pytest.approx(scores)
    assert distance_from_temperature(4.0) < 1e-12 < distance_from_temperature(4.0, 0.5)
