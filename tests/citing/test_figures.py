"""Figures of a text, in every usual spelling."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import examples
from verify.citing.figures import Number, has_decimal_comma, hidden, numbers_in, rounded


def read(text: str, **how: Any) -> list[float]:
    """Return the values of the numbers of a text, their units included."""
    return [float(one.value.scaleb(one.unit)) for one in numbers_in(text, **how)]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("64 of 1,000 and 1 000", [64, 1000, 1, 0]),
        ("1\u202f000 and 12'345", [1000, 12345]),
        ("-0.5, −0.5, +0.5, .5", [-0.5, -0.5, 0.5, 0.5]),
        ("6.1×10⁻⁷ = 6.1 * 10^-7 = 6.1e-7 = $6.1 \\cdot 10^{-7}$ = 6.1 × 10<sup>−7</sup>", [6.1e-7] * 5),
        ("[1.5, 2.5]×10³", [1500, 2500]),
        ("5% or 5 per cent or 5‰ of 3 million and 2k", [0.05, 0.05, 0.005, 3e6, 2000]),
        ("99.1–99.5%", [0.991, 0.995]),
        ("1–2", [1, 2]),
        ("d_2 is <b id='7'>64</b> <!-- 12 -->", [64]),
        ("no number", []),
    ],
)
def test_numbers_are_read_as_people_do(text: str, values: list[float]) -> None:
    """Groups, signs, powers of ten, units; nothing in tags, comments and indices."""
    assert read(text) == pytest.approx(values)


def test_spaces_and_commas_are_read_where_asked_for() -> None:
    """Ordinary spaces between groups of three, and a comma before decimals."""
    assert read("1 000 000", spaced=True) == [1e6]
    assert read("1.234,5", comma=True) == [1234.5]
    assert has_decimal_comma("1,5")
    assert not has_decimal_comma("1.5 and 1,000")


@examples(60)
@given(st.decimals(-(10**6), 10**6, allow_nan=False, places=4), st.integers(-9, 9))
def test_a_number_is_where_it_stands(value: Decimal, power: int) -> None:
    """With the place of its last digit; what stands around it does not matter."""
    text = f"{value:f}e{power}" if power else f"{value:f}"
    (found,) = numbers_in(f"is {text}, so")
    assert found.value == value.scaleb(power)
    assert f"is {text}, so"[found.start : found.end] == text
    assert found.place == power - 4
    assert found.plain == (power == 0)


@examples(60)
@given(st.decimals(-1000, 1000, allow_nan=False, places=6), st.integers(-5, 2))
def test_digits_are_left_out_in_the_way_that_is_asked_for(value: Decimal, place: int) -> None:
    """Down and up surround the value, half a unit is enough for the nearest; what is round stays."""
    down, up, nearest = (rounded(value, place, way) for way in ("down", "up", "nearest"))
    unit = Decimal(1).scaleb(place)
    assert down <= value <= up
    assert up - down in (0, unit)
    assert abs(nearest - value) <= unit / 2
    assert rounded(down, place, "up") == down


@pytest.mark.parametrize(
    ("text", "exact", "agrees"),
    [
        ("0.88", "0.8808", True),
        ("0.881", "0.8808", True),
        ("0.880", "0.8808", False),
        ("0.8808", "0.8808", True),
    ],
)
def test_a_number_agrees_to_the_digits_that_it_has(text: str, exact: str, agrees: bool) -> None:
    """To the nearest; rounded down or up it agrees with that alone."""
    number = one(text)
    assert number.agrees(Decimal(exact), "nearest") is agrees
    assert one("0.880").agrees(Decimal(exact), "down")
    assert one("0.881").agrees(Decimal(exact), "up")
    assert not one("0.881").agrees(Decimal(exact), "down")
    assert one("7").agrees(Decimal(7), "exact")
    assert not one("7.0").agrees(Decimal(7), "exact")


def one(text: str, **how: Any) -> Number:
    """Return the only number of a text."""
    (number,) = numbers_in(text, **how)
    return number


def test_a_number_knows_how_it_is_written() -> None:
    """Its significant digits, what groups them, and whether a comma may be either."""
    assert [one(text).significant for text in ("0.0120", "1200", "0.0")] == [3, 4, 0]
    assert [one(text).separator for text in ("1,000", "1000", "0.5")] == [",", "", ""]
    assert [one(text, comma=True).is_ambiguous for text in ("1,234", "0,234", "1,23", "1234")] == [
        True, False, False, False,
    ]  # fmt: skip
    assert [one(text).doubt for text in ("3 bn", "3 of", "3 million")] == ["bn", "", ""]


@examples(40)
@given(st.text("<a>b! -1_{}()#/&;", max_size=30))
def test_what_readers_do_not_see_is_blanked_in_its_place(text: str) -> None:
    """Every character that is left stands where it stood."""
    found = hidden(text)
    assert len(found) == len(text)
    assert all(new in (old, "a", "\u00a0") for old, new in zip(text, found, strict=True))
