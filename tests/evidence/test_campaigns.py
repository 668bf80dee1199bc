"""Tables of campaigns on record: their counts add up."""

from typing import Any

import pytest
from pydantic import ValidationError

from verify.evidence import Calibration, Counted, FalseClaims, FalseKind


def counted(**changes: Any) -> Counted:
    """Return a row of the calibration: 7 of 100, allowed 0.05."""
    row = {
        "what": "a miss",
        "level": 0.05,
        "trials": 100,
        "events": 7,
        "allowed": 0.05,
        "low": 0.02,
        "high": 0.16,
    }
    return Counted.model_validate(row | changes)


@pytest.mark.parametrize(
    ("changes", "in_order"),
    [
        ({}, True),
        ({"low": 0.05}, True),
        ({"low": 0.051}, False),
        ({"at_least": True}, True),
        ({"at_least": True, "allowed": 0.16}, True),
        ({"at_least": True, "allowed": 0.17}, False),
    ],
)
def test_rows_are_in_order_while_their_bounds_leave_it_open(changes: dict[str, Any], in_order: bool) -> None:
    """Too many is where even the lower bound is beyond what is allowed, too few the other way round."""
    assert counted(**changes).in_order is in_order


def test_counts_that_cannot_be_are_refused() -> None:
    """More events than trials, bounds upside down; and sums of nothing."""
    wrong = {"events": 101, "low": 0.2}
    for (name, value), what in zip(
        wrong.items(), ("it has more events than trials", "its bounds are upside down"), strict=True
    ):
        with pytest.raises(ValidationError, match=what):
            counted(**{name: value})
    study = {
        "seed": 1,
        "command": "c",
        "version": "0",
        "confidence": 0.99,
        "rows": [counted(setting="d = 4")],
    }
    for whole, what in [
        (counted(level=None), "'a miss' is counted together at no level"),
        (counted(level=0.01), "no row belongs to 'a miss'"),
        (counted(setting="n = "), "no row belongs to 'a miss'"),
    ]:
        with pytest.raises(ValidationError, match=what):
            Calibration.model_validate(study | {"together": [whole]})


def kind(**changes: Any) -> FalseKind:
    """Return the row of a kind of which two of two are caught."""
    row = {"kind": "law", "of": 2, "caught": 2, "by": {"kernel": 2}, "neighbours": 2}
    return FalseKind.model_validate(row | changes)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"of": 1}, "more of kind 'law' than there are"),
        ({"neighbours": 3}, "more of kind 'law' than there are"),
        ({"by": {"kernel": 1}}, "those of kind 'law' do not add up"),
    ],
)
def test_more_caught_than_there_are_is_refused(changes: dict[str, Any], said: str) -> None:
    """More caught than there are, or by more than were."""
    with pytest.raises(ValidationError, match=said):
        kind(**changes)


def test_kinds_add_up() -> None:
    """What is printed of all kinds together."""
    one_missed = kind(kind="words", caught=1, by={"words": 1}, neighbours=0)
    table = FalseClaims(command="c", version="0", kinds=(kind(), one_missed))
    assert (table.of, table.caught, table.neighbours) == (4, 3, 2)
