"""What is on record of a check: its numbers agree with each other, and how near it is to its bound."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.report.builders import check, control
from tests.strategies import examples, floats
from verify.evidence.claims import Check, Control, tightness


class Cells(HTMLParser):
    """Collects the texts of a table's cells."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def handle_data(self, data: str) -> None:
        """Keep a text."""
        self.texts.append(data)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"interval": (3.0, 1.0)}, "its interval is upside down"),
    ({"interval": (2.5, 3.0)}, "its estimate lies outside its interval"),
    ({"interval": (1.0, 1.5)}, "its estimate lies outside its interval"),
    ({"band": (None, 2.1)}, "its band does not fit its relation"),
    ({"band": (1.9, None)}, "its band does not fit its relation"),
    ({"relation": "≤"}, "its band does not fit its relation"),
    ({"relation": "≥"}, "its band does not fit its relation"),
    ({"band": (2.05, 2.1)}, "its prediction lies outside its band"),
    ({"band": (1.9, 1.95)}, "its prediction lies outside its band"),
]


@pytest.mark.parametrize(("changes", "what"), WRONG)
@pytest.mark.parametrize("made", [check("a", 2.0, 2.0, error=0.1), control("b", "wrong", 2.0, 2.0)])
def test_numbers_that_contradict_each_other_are_refused(
    made: Check | Control, changes: dict[str, Any], what: str
) -> None:
    """Of checks and of controls: estimate in its interval, prediction in a band that fits its relation."""
    content = made.model_dump()
    assert type(made).model_validate(content) == made
    with pytest.raises(ValidationError, match=what):
        type(made).model_validate(content | changes)


def test_words_that_are_not_needed_leave_no_trace() -> None:
    """So the digests of results from before there were any still fit; words that are said are on record."""
    made = check("a", 2.0, 2.0)
    assert not {"tolerance_because", "uncontrolled"} & made.model_dump().keys()
    said = Check.model_validate(made.model_dump() | {"uncontrolled": "it is the only one"})
    assert said.model_dump() == made.model_dump() | {"uncontrolled": "it is the only one"}
    assert said != made


def test_a_tightness_that_is_not_the_ratio_is_refused() -> None:
    """It is the estimate over the bound, or nothing."""
    made = check("a", 1.5, 2.0, relation="≤")
    assert made.tightness == 0.75
    for wrong in (0.7, 1.0):
        with pytest.raises(ValidationError, match="its tightness is not estimate over bound"):
            Check.model_validate(made.model_dump() | {"tightness": wrong})


@examples(40)
@given(floats(-1e6, 1e6), st.just(0.0) | floats(1e-6, 1e6) | floats(-1e6, -1e-6), st.sampled_from("≤≥"))
def test_tightness_times_bound_is_the_estimate(
    estimate: float, bound: float, relation: Literal["≤", "≥"]
) -> None:
    """Of a derived bound other than 0; nothing else has one."""
    found = tightness(relation, "derived", estimate, bound)
    assert (found is None) == (bound == 0)
    if found is not None:
        assert found * bound == pytest.approx(estimate, rel=1e-14, abs=1e-300)
    assert tightness("=", "derived", estimate, bound) is None
    assert tightness(relation, "set", estimate, bound) is None


@pytest.mark.parametrize("relation", ["=", "≤", "≥"])
def test_half_of_a_band_is_had_from_the_side_that_is_closed(relation: Literal["=", "≤", "≥"]) -> None:
    """A tolerance of a quarter of 2, also where one side is open."""
    assert check("a", 2.0, 2.0, relation=relation, tolerance=0.25).half_width == 0.5


def test_a_table_has_a_row_a_check_with_its_texts_escaped() -> None:
    """Head first; a bound has its sign before the number."""
    bound = check("b", 1.5, 2.0, relation="≤", quantity="a < b & <script>", error=0.0)
    cells = Cells()
    cells.feed(bound._repr_html_())
    assert cells.texts == [
        *("check", "quantity", "predicted", "estimate", "interval", "verdict"),
        *("b", "a < b & <script>", "≤2", "1.5", "1.5 to 1.5", "confirmed"),
    ]


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("biased-prediction", True),
        ("bent-lack-of-fit", True),
        ("bound-c8-sharper", True),
        ("unbiased", False),
        ("unscaled", False),
    ],
)
def test_a_control_that_only_moves_a_number_is_known_by_its_id(name: str, *, near: bool) -> None:
    """A wrong version that somebody could state is none of these."""
    assert control(name, "it is larger", 70, 64).is_near_miss is near
