"""Words, dates and small counts, in the forms in which documents write them."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import examples
from verify.citing.figures import cased, counts_in, read_date, recounted, rewritten_date, spelled

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


@pytest.mark.parametrize(("old", "new"), [("Holds", "Wrong"), ("holds", "wrong"), ("HOLDS", "WRONG")])
def test_a_word_keeps_its_case(old: str, new: str) -> None:
    """Of its first letter, or of all."""
    assert cased(old, "wrong") == new


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
