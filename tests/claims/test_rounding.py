"""Numbers of few bits: the nearest, their spacing, and what rounding to them does."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.montecarlo.samples import generator
from verify.claims.modern.shared.variants import (
    change_of_weights,
    distance_from_half,
    distance_of_orders,
    largest_move,
    rounded,
    spacing_above,
)


def test_rounding_to_bfloat16_is_that_of_bit_patterns() -> None:
    """Nearest and ties to even, by adding to the bits of single precision; ties among them."""
    values = np.concatenate([generator().normal(size=1000) * 100, np.arange(64, 66, 0.25)]).astype(np.float32)
    bits = values.view(np.uint32)
    nearest = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    assert np.array_equal(rounded(values.astype(np.float64), 8), nearest.view(np.float32))


@given(st.floats(-1e6, 1e6), st.integers(2, 24))
def test_rounding_keeps_to_half_a_spacing(value: float, bits: int) -> None:
    """No number of so many bits is closer, and rounding again changes nothing."""
    found = rounded(np.array(value), bits)
    assert rounded(found, bits) == found
    if abs(value) > 1e-9:
        spacing = 2.0 ** (math.floor(math.log2(abs(value))) + 1 - bits)
        assert abs(found - value) <= spacing / 2
        assert found % spacing == 0


@pytest.mark.parametrize(
    ("at", "bits", "spacing"), [(64, 8, 0.5), (64, 4, 8.0), (1, 11, 2**-10), (1.5, 4, 0.125)]
)
def test_the_next_number_of_so_many_bits(at: float, bits: int, spacing: float) -> None:
    """Half precision counts in 1024ths from 1 on."""
    assert spacing_above(at, bits) == spacing


def test_the_largest_move_is_half_a_spacing_of_a_power_of_two() -> None:
    """A number just above 1 + 1/16 falls to 1 or rises by as much: nearly 2^-4 of it with four bits."""
    assert largest_move(4) == pytest.approx(1 / 17)
    assert largest_move(8) == pytest.approx(1 / 257)


def test_weights_of_rounded_scores_by_hand() -> None:
    """Two scores half apart of which four bits leave 1 and 1.5 as they are, and one bit 1 and 2."""
    assert change_of_weights((1.0, 1.5), 4) == 0
    logistic = (1 / (1 + math.exp(-gap)) for gap in (1.0, 0.5))
    assert change_of_weights((1.0, 1.5), 1) == pytest.approx(next(logistic) - next(logistic))


def test_half_precision_has_eleven_bits() -> None:
    """With one more or one less it is not NumPy's."""
    assert distance_from_half(11) == 0
    assert min(distance_from_half(10), distance_from_half(12)) > 1e-4


def test_a_power_of_two_may_come_first() -> None:
    """Its product with a number has the same significand; that with another factor has not."""
    assert distance_of_orders(2.0**-3, 8) == 0
    assert distance_of_orders(0.1, 8) > 1e-4
