"""Figures of a text, in every usual spelling; counts in words, and dates."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import examples
from verify.citing.figures import (
    Number,
    counts_in,
    has_decimal_comma,
    numbers_in,
    read_date,
    recounted,
    rewritten_date,
    spelled,
)

if TYPE_CHECKING:
    from decimal import Decimal


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


def one(text: str, **how: Any) -> Number:
    """Return the only number of a text."""
    (number,) = numbers_in(text, **how)
    return number


FORMS = (
    "2026-11-21", "21 November 2026", "21. November 2026", "21 Nov 2026", "21 Nov. 2026", "21 November, 2026",
    "November 21, 2026", "Nov 21, 2026", "Nov. 21, 2026", "21.11.2026", "21. 11. 2026",
)  # fmt: skip


def test_every_count_is_read_as_it_is_written() -> None:
    """Below a thousand, each in words of its own, in whatever case and with spaces for hyphens."""
    words = [spelled(count) for count in range(1000)]
    assert len(set(words)) == 1000
    for count, word in enumerate(words):
        for text in (word, word.upper().replace("-", " ")):
            assert counts_in(f"of {text} checks") == ((count, 3, 3 + len(text)),)
    assert [words[one] for one in (0, 19, 40, 47, 312, 999)] == [
        "zero", "nineteen", "forty", "forty-seven", "three hundred and twelve",
        "nine hundred and ninety-nine",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("none of them", []),
        ("someone, tenfold", []),
        ("twenty thirty", []),
        ("one of two", [1, 2]),
        ("Forty-seven claims, all forty seven", [47, 47]),
    ],
)
def test_counts_are_words_of_their_own(text: str, counts: list[int]) -> None:
    """Parts of other words are none, nor are words that make no number."""
    assert [count for count, _, _ in counts_in(text)] == counts


@pytest.mark.parametrize(
    ("text", "count", "new"),
    [
        ("forty-seven claims", 50, "fifty claims"),
        ("Forty-seven claims", 8, "Eight claims"),
        ("FORTY claims", 8, "EIGHT claims"),
        ("one of two", 3, None),
        ("no claims", 3, None),
        ("one claim", 1000, None),
        ("one claim", -1, None),
    ],
)
def test_the_only_count_of_a_text_is_replaced(text: str, count: int, new: str | None) -> None:
    """In its case; where there are others or none, or no word for it, nothing is."""
    assert recounted(text, count) == new


@pytest.mark.parametrize("form", FORMS)
def test_a_date_is_read_in_every_form(form: str) -> None:
    """And written in the same form again."""
    assert read_date(form) == date(2026, 11, 21)
    assert rewritten_date(form, "2026-11-21") == form


@examples(60)
@given(st.dates(date(1000, 1, 1)), st.sampled_from(FORMS))
def test_a_date_that_is_written_is_read_as_it_is(day: date, form: str) -> None:
    """Whatever the form of the one before."""
    assert read_date(rewritten_date(form, day.isoformat())) == day


@pytest.mark.parametrize(
    "text", ["11/21/2026", "2026-13-01", "31 June 2026", "30.2.2026", "November", "2026"]
)
def test_what_is_no_day_is_none(text: str) -> None:
    """Nor is what may be two."""
    assert read_date(text) is None
