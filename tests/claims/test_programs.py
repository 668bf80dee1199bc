"""Programs of claims, by plain loops, by hand and by formats that NumPy has."""

import math

import numpy as np
import pytest

from verify.claims.modern.attention_sink import beside_sink
from verify.claims.newer import eight_bit_rotation, low_precision_sums, online_softmax
from verify.claims.newer.score_clip import clipped
from verify.spec.arrays import softmax

RNG = np.random.default_rng(18)


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


@pytest.mark.parametrize("lag", [0.0, 1.0, 8.0])
def test_one_pass_is_softmax(lag: float) -> None:
    """Whatever the lag; the reference never lags by more, and no partial sum is beyond the bound."""
    scores = 3 * RNG.normal(size=(8, 40))
    weights, most, reference = online_softmax.single_pass(scores, lag)
    assert weights == pytest.approx(softmax(scores))
    assert np.all(scores.max(axis=1) - reference <= lag)
    assert np.all(most <= 1 + 39 * math.exp(lag))


def test_sums_in_few_bits() -> None:
    """As NumPy's half precision has them, one after the other and in pairs."""
    terms = RNG.random(256).astype(np.float16)
    total = np.float16(0)
    for one in terms:
        total += one
    wide = terms.astype(np.float64)
    assert low_precision_sums.in_turn(wide, 11) == total
    pairs = terms
    while len(pairs) > 1:
        pairs = pairs[::2] + pairs[1::2]
    assert low_precision_sums.in_pairs(wide, 11) == pairs[0]


def test_eight_bits_and_rotation() -> None:
    """Rotations are orthogonal; numbers of a format stay, others move by half a step at most."""
    for turn in eight_bit_rotation.TURNS.values():
        assert turn @ turn.T == pytest.approx(np.eye(eight_bit_rotation.WIDTH), abs=1e-12)
    stays = np.array([[448.0, 416.0, 1.125, 2.0**-9, 0.0]])
    assert np.array_equal(eight_bit_rotation.in_e4m3(stays), stays)
    whole = np.array([[127.0, -3.0, 0.4]])
    assert np.array_equal(eight_bit_rotation.in_int8(whole), [[127.0, -3.0, 0.0]])
