"""Floats as decimals, and rounding at a decimal place."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.text.numbers import as_decimal, rounded

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def test_a_float_means_its_shortest_decimal() -> None:
    """0.95 is ninety-five hundredths, not the nearest binary fraction."""
    assert as_decimal(0.95) == Decimal("0.95")
    assert str(as_decimal(2)) == "2.0"


@pytest.mark.parametrize(
    ("value", "place", "rounding", "text"),
    [
        ("0.285", -2, ROUND_HALF_UP, "0.29"),
        ("0.285", -2, ROUND_HALF_EVEN, "0.28"),
        ("1.5", -3, ROUND_HALF_EVEN, "1.500"),
        ("1549", 2, ROUND_HALF_EVEN, "1500"),
        ("0.04", 0, ROUND_CEILING, "1"),
        ("-0.04", 0, ROUND_FLOOR, "-1"),
        ("1e308", -400, ROUND_HALF_EVEN, "1" + "0" * 308 + "." + "0" * 400),
    ],
)
def test_rounding_at_a_place(value: str, place: int, rounding: str, text: str) -> None:
    """Ties go as the mode says, trailing zeros stay, and no number of digits is too large."""
    assert f"{rounded(Decimal(value), place, rounding):f}" == text


@given(FINITE, st.integers(-350, 320))
def test_rounding_is_exact(value: float, place: int) -> None:
    """The result is a multiple of its unit, and no other multiple is nearer; floor and ceiling enclose it."""
    exact, unit = Fraction(as_decimal(value)), Fraction(10) ** place
    nearest = Fraction(rounded(as_decimal(value), place))
    assert (nearest / unit).denominator == 1
    assert abs(nearest - exact) <= unit / 2
    low, high = (Fraction(rounded(as_decimal(value), place, mode)) for mode in (ROUND_FLOOR, ROUND_CEILING))
    assert low <= exact <= high
    assert high - low in {0, unit}


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
def test_only_finite_numbers_are_rounded(value: str) -> None:
    """What is no number has no digits."""
    with pytest.raises(ValueError, match="cannot be rounded"):
        rounded(Decimal(value), 0)
