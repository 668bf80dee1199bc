"""Modern and newer variants of attention: statistics, rounding and recovered scales by loops and by hand."""

import math

import numpy as np
import pytest
from scipy import optimize

from verify.claims.modern.attention_sink import beside_sink
from verify.claims.newer.score_clip import clipped, distance_from_temperature
from verify.montecarlo.attention import softmax

RNG = np.random.default_rng(18)


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


def test_clipping_bounds_the_largest_score_alone() -> None:
    """At the level if it was above it, untouched if not; what is far below stays there."""
    queries, keys = RNG.normal(size=(2, 6, 4))
    scores = queries @ keys.T
    level = scores.max() / 3
    assert clipped(queries, keys, level).max() == pytest.approx(level)
    assert clipped(queries, keys, 2 * scores.max()) == pytest.approx(scores)
    assert distance_from_temperature(4.0) < 1e-12 < distance_from_temperature(4.0, 0.5)
