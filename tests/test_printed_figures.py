"""Printed figures are compared with exact values at the precision they are printed to."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from verify.text.numbers import as_printed, rounds_to

FIGURES = st.from_regex(r"-?(0|[1-9][0-9]{0,5})(\.[0-9]{1,12})?%?", fullmatch=True)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
EVERYDAY = st.floats(-1e6, 1e6) | st.decimals(-1000, 1000, places=3).map(float)


@given(FINITE | EVERYDAY, FIGURES)
def test_a_value_rounds_to_what_is_printed_of_it(exact: float, printed: str) -> None:
    """Writing a value at some precision and comparing it at that precision agree, for every float."""
    text = as_printed(exact, printed)
    assert rounds_to(exact, text)
    assert as_printed(exact, text) == text
    assert text.endswith("%") == printed.endswith("%")
    assert len(text.partition(".")[2]) == len(printed.partition(".")[2])


@given(EVERYDAY, FIGURES, st.integers(1, 9), st.sampled_from([-1, 1]))
def test_another_last_digit_is_a_misprint(exact: float, printed: str, units: int, sign: int) -> None:
    """A figure off by a unit of its last digit or more is not what the value rounds to."""
    text = as_printed(exact, printed)
    percent = text.endswith("%")
    figure = Decimal(text.removesuffix("%"))
    unit = Decimal(1).scaleb(figure.as_tuple().exponent)  # type: ignore[arg-type]
    value = Decimal(repr(exact)).scaleb(2 if percent else 0)
    # At a tie both neighbours may be right.
    assume(abs(value - figure) != unit / 2)
    assert not rounds_to(exact, f"{figure + sign * units * unit:f}" + "%" * percent)


@pytest.mark.parametrize(
    ("exact", "printed", "agrees", "shown"),
    [
        (0.8807970779778824, "0.880", False, "0.881"),
        (0.8807970779778824, "0.88", True, "0.88"),
        (0.2689414213699951, "26.89%", True, "26.89%"),
        (0.9998766054240137, "99.99%", True, "99.99%"),
        (0.9998766054240137, "100%", True, "100%"),
        (0.5, "0.50", True, "0.50"),
        (0.5004, "0.5", True, "0.5"),
        (0.285, "0.28", True, "0.28"),
        (0.285, "0.29", True, "0.29"),
        (0.285, "0.27", False, "0.29"),
        (2.5, "2", True, "2"),
        (2.5, "3", True, "3"),
        (3.5, "3", False, "4"),
        (-2.5, "-3", True, "-3"),
        (-0.001, "0.0", True, "0.0"),
        (1478.0, "1478", True, "1478"),
        (6722.888888888889, "6722.9", True, "6722.9"),
        (1e300, "1", False, "1" + "0" * 300),
    ],
)
def test_known_figures(exact: float, printed: str, agrees: bool, shown: str) -> None:
    """Ties, percent signs, trailing zeros, signs and sizes."""
    assert rounds_to(exact, printed) is agrees
    assert as_printed(exact, printed) == shown


@pytest.mark.parametrize(("exact", "printed"), [(1.0, "one"), (1.0, "1e3"), (math.nan, "1"), (math.inf, "1")])
def test_what_is_no_figure_is_refused(exact: float, printed: str) -> None:
    """Neither words nor values without a decimal form can be compared."""
    for function in (rounds_to, as_printed):
        with pytest.raises(ValueError, match=r"decimal number|printed form"):
            function(exact, printed)
