"""False claims, and theorems tried at points, as the method chapter prints them."""

from __future__ import annotations

from tests.evidence.test_false_claims import kind
from verify.evidence import FalseClaims, Falsified
from verify.evidence.load import stored_table
from verify.report.false_claims import false_claims, falsified
from verify.text import numbers


def test_a_kind_says_what_it_is_about_and_what_catches_it() -> None:
    """In words, with the counts; one that gets through is not in order."""
    missed = kind(kind="other", caught=1, by={"words": 1})
    shown = false_claims(FalseClaims(command="c", version="0", kinds=(kind(), missed)))
    assert shown is not None
    assert [one.kind for one in shown.rows] == ["another law than the assumed one", "other"]
    assert [one.by for one in shown.rows] == ["kernel 2", "words 1"]
    assert [one.in_order for one in shown.rows] == [True, False]
    assert not shown.all_in_order


def test_no_campaign_no_table() -> None:
    """A record without one prints none."""
    assert false_claims(None) is None
    assert falsified(None) is None


def test_reasons_are_printed_in_plain_words() -> None:
    """Each with the number of statements; one that has no others is printed as it is."""
    found = stored_table(Falsified).model_copy(
        update={"held": 123456, "refuted": 1, "why": {"the balls are too wide": 7, "other": 2}}
    )
    shown = falsified(found)
    assert shown is not None
    assert (shown.held, shown.none_refuted) == (numbers.count(123456), False)
    assert shown.why == "rounding is not bounded closely enough (7); other (2)"
