"""Statements and their parts as a file of sources has them: each key for itself."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from verify.engine.entries import PartEntry, StatementEntry, is_figure

PART: dict[str, Any] = {"text": "It says so.", "claim": "a-claim", "evidence": "verdict", "kind": "says"}
STATEMENT: dict[str, Any] = {"id": "s1", "source": "s", "text": "So it is.", "part": [PART]}


@pytest.mark.parametrize("text", ["0.880", "-3", "26.89%", "0"])
def test_a_figure_is_a_decimal_number_as_printed(text: str) -> None:
    """With its last zero."""
    assert is_figure(text)
    assert PartEntry.model_validate(PART | {"printed": text}).printed == text


@pytest.mark.parametrize("text", ["", "about 1", ".5", "5.", "1e3", "1,000", "+1", "5 %", "٣"])
def test_anything_else_is_no_figure(text: str) -> None:
    """It is refused with how to write one."""
    assert not is_figure(text)
    with pytest.raises(ValidationError, match="is not a decimal number; write it as in"):
        PartEntry.model_validate(PART | {"printed": text})


def test_a_text_in_several_lines_is_one() -> None:
    """Of a part, a statement, a note."""
    whole = StatementEntry.model_validate(STATEMENT | {"text": "So\n  it is $x$.\n", "note": "a\nb"})
    assert (whole.text, whole.note) == ("So it is $x$.", "a b")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"text": " \n"}, "must not be empty; write what it should say"),
        ({"text": "costs $5"}, "has a dollar sign without its partner; put LaTeX between two"),
        ({"text": r"$\input{x}$"}, "input"),
        ({"evidence": "Verdict"}, "is not a kind of evidence; write"),
        ({"evidence": "check:"}, "is not a kind of evidence"),
        ({"evidence": "claim:a"}, "is not a kind of evidence"),
        ({"kind": "sings"}, "Input should be 'says' or 'prints'"),
        ({"about": "yes"}, "Input should be a valid boolean"),
        ({"more": 1}, "Extra inputs"),
    ],
)
def test_a_key_that_cannot_be_meant_is_refused(changes: dict[str, Any], message: str) -> None:
    """Each for itself, with what would do."""
    with pytest.raises(ValidationError, match=message):
        PartEntry.model_validate(PART | changes)


@pytest.mark.parametrize(
    ("evidence", "kind", "name"),
    [
        ("verdict", "verdict", ""),
        ("check:a-b", "check", "a-b"),
        ("control:c", "control", "c"),
        ("fact:f1", "fact", "f1"),
    ],
)
def test_evidence_has_a_kind_and_an_id(evidence: str, kind: str, name: str) -> None:
    """And is that of the claim that is named."""
    part = PartEntry.model_validate(PART | {"evidence": evidence})
    assert (part.evidence_kind, part.evidence_id, part.evidence_claim) == (kind, name, "a-claim")


def test_what_is_computed_rests_on_the_claim_of_its_computation() -> None:
    """Whatever it is called in the file."""
    part = PartEntry.model_validate(
        {"text": "It is 2.", "kind": "prints", "printed": "2", "compute": {"what": "dot-product"}}
    )
    assert (part.evidence_kind, part.evidence_id) == ("compute", "dot-product")
    assert part.evidence_claim == "worked-dot-products"


def test_parts_are_called_part_in_the_file() -> None:
    """One header a part."""
    whole = StatementEntry.model_validate(STATEMENT)
    assert [one.text for one in whole.parts] == ["It says so."]
    assert (whole.claim, whole.note, whole.noted, whole.given) == (None, None, None, ())
