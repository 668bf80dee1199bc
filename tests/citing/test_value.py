"""What a document may quote: texts with the figures in them, and patterns of what may stand there instead."""

from __future__ import annotations

import math
import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.citing.values import DATE, DIGEST, VERSION, Figure, counted, decimal, level_text, one_of
from verify.evidence import Outcome


def test_a_word_stands_for_itself_with_hyphens_or_spaces() -> None:
    """The longest first, so that none is cut short; signs of patterns are signs."""
    pattern = one_of([str(one) for one in Outcome])
    assert re.match(pattern, "holds with conditions")[0] == "holds with conditions"  # type: ignore[index]
    assert re.fullmatch(pattern, "holds-with-conditions")
    assert not re.fullmatch(one_of(["a.b"]), "axb")


@given(st.integers(0, 10**15))
def test_a_count_is_its_own_figure(number: int) -> None:
    """Exactly, with its digits in groups."""
    text, figures = counted(number)
    assert int("".join(filter(str.isdigit, text))) == number
    assert figures == (Figure(Decimal(number)),)


@pytest.mark.parametrize(
    ("level", "figures"),
    [(0.95, [95]), (0.5, [50]), (1.0, [1]), (1 - 6.1e-7, [1, 1 - (1 - 6.1e-7)])],
)
def test_a_level_near_1_has_two_figures(level: float, figures: list[float]) -> None:
    """Others are percentages."""
    text, found = level_text(level)
    assert [float(one.exact) for one in found] == pytest.approx(figures, rel=1e-12)
    assert ("×10" in text) == (len(figures) == 2)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_its_shortest_decimal(value: float) -> None:
    """Which reads back as the same float."""
    assert float(decimal(value)) == value
    assert len(decimal(value).as_tuple().digits) <= 17 or value == int(value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_refused(value: float) -> None:
    """No record holds it."""
    with pytest.raises(ValueError, match="only finite numbers"):
        decimal(value)


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        (DIGEST, ["0f" * 6, "0f" * 32], ["0f" * 5 + "0", "0f" * 33, "0G" * 8]),
        (DATE, ["2026-11-21", "21 November 2026", "Nov. 21, 2026"], ["11/21/2026", "November 2026"]),
        (VERSION, ["0.1.0", "1.2rc1"], ["1", "v1.0"]),
    ],
)
def test_patterns_are_of_what_may_stand_there(pattern: str, good: list[str], bad: list[str]) -> None:
    """Twelve signs of a digest will do."""
    assert all(re.fullmatch(pattern, one) for one in good)
    assert not any(re.fullmatch(pattern, one) for one in bad)
