"""Programs of few bits and of one pass, by plain loops and by formats that NumPy has."""

import math
from typing import Any

import numpy as np
import pytest

from tests.catalogue import experiment
from verify.claims.modern import low_precision_scores
from verify.claims.newer import eight_bit_rotation, low_precision_sums, online_softmax
from verify.montecarlo.experiment import Exact
from verify.spec.arrays import softmax
from verify.spec.rounding import rounded

RNG = np.random.default_rng(8)


@pytest.mark.parametrize("lag", [0.0, 1.0, 8.0])
def test_one_pass_is_softmax(lag: float) -> None:
    """Whatever the lag; the reference never lags by more, and no partial sum is beyond the bound."""
    scores = 3 * RNG.normal(size=(8, 40))
    weights, most, reference = online_softmax.one_pass(scores, lag)
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


def test_what_two_close_scores_lose() -> None:
    """Half a score apart they weigh 0.62 and 0.38, and rounded one half each."""
    found = next(one for one in experiment("low-precision-scores").checks if one.id == "change")
    assert isinstance(found, Exact)
    assert found.computed == pytest.approx(1 / (1 + math.exp(-0.5)) - 0.5, abs=1e-5)
    assert found.prediction.value == pytest.approx(math.tanh(0.125))


@pytest.mark.parametrize(
    ("at", "bits", "spacing"), [(64, 8, 0.5), (64, 4, 8.0), (1, 11, 2**-10), (1.5, 4, 0.125)]
)
def test_the_next_number_of_so_many_bits(at: float, bits: int, spacing: float) -> None:
    """Half precision counts in 1024ths from 1 on."""
    assert low_precision_scores.spacing_above(at, bits) == spacing


@pytest.mark.parametrize("bits", [4, 8])
def test_the_mean_error_of_scores(bits: int) -> None:
    """In two dimensions the density is exp(-|x|)/2: against a sum over a fine grid of rounded numbers."""
    step = 40 / 2_000_000
    at: Any = step * (np.arange(2_000_000) + 0.5)
    error = float(np.sum((rounded(at, bits) - at) ** 2 * np.exp(-at)) * step)
    assert low_precision_scores.mean_error(2, bits) == pytest.approx(error, rel=1e-6)


def test_eight_bits_and_rotation() -> None:
    """Rotations are orthogonal; numbers of a format stay, others move by half a step at most."""
    for turn in eight_bit_rotation.TURNS.values():
        assert turn @ turn.T == pytest.approx(np.eye(eight_bit_rotation.WIDTH), abs=1e-12)
    stays = np.array([[448.0, 416.0, 1.125, 2.0**-9, 0.0]])
    assert np.array_equal(eight_bit_rotation.in_e4m3(stays), stays)
    whole = np.array([[127.0, -3.0, 0.4]])
    assert np.array_equal(eight_bit_rotation.in_int8(whole), [[127.0, -3.0, 0.0]])
