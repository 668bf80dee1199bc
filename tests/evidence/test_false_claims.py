"""The campaign of false claims on record: counts that can be."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from verify.evidence import FalseClaims, FalseKind


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
def test_counts_that_cannot_be_are_refused(changes: dict[str, Any], said: str) -> None:
    """More caught than there are, or by more than were."""
    with pytest.raises(ValidationError, match=said):
        kind(**changes)


def test_kinds_add_up() -> None:
    """What is printed of all kinds together."""
    one_missed = kind(kind="words", caught=1, by={"words": 1}, neighbours=0)
    table = FalseClaims(command="c", version="0", kinds=(kind(), one_missed))
    assert (table.of, table.caught, table.neighbours) == (4, 3, 2)
