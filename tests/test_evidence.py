"""Records: frozen, strict, and sealed by a digest that sees every change."""

from __future__ import annotations

import json
import math
from html import escape
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.strategies import CHECKS, CLAIM_RECORDS, RUN_RECORDS, examples
from verify.evidence import (
    Check,
    ClaimRecord,
    Fact,
    Proof,
    RunRecord,
    Verdict,
    digest_of,
)


def leaves(content: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return the paths to all values in a JSON document."""
    if isinstance(content, dict):
        return [leaf for key, value in content.items() for leaf in leaves(value, (*path, key))]
    if isinstance(content, list):
        return [leaf for key, value in enumerate(content) for leaf in leaves(value, (*path, key))]
    return [path]


def changed(value: Any) -> Any:
    """Return another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return math.nextafter(value, math.inf)
    return "x" if value is None else value + "x"


@examples(60)
@given(CLAIM_RECORDS, st.data())
def test_the_digest_changes_if_anything_changes(record: ClaimRecord, data: st.DataObject) -> None:
    """Any single value, by one unit or one character, gives another digest, or no record at all."""
    content = record.model_dump(mode="json")
    choices = [path for path in leaves(content) if path != ("digest",) and not _fixed(path)]
    path = data.draw(st.sampled_from(choices))
    place: Any = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = changed(place[path[-1]])
    try:
        other = ClaimRecord.model_validate(content)
    except ValidationError:
        event("refused")
    else:
        assert digest_of(other) != digest_of(record)


def _fixed(path: tuple[str | int, ...]) -> bool:
    """Return whether a value is one of a fixed choice, changed in another test."""
    return path[-1] in {"verdict", "status", "method", "relation"}


@examples(30)
@given(CLAIM_RECORDS)
def test_the_digest_sees_verdicts(record: ClaimRecord) -> None:
    """Another verdict, or another state of the proof, gives another digest."""
    others = [record.model_copy(update={"verdict": v}) for v in Verdict if v is not record.verdict]
    for proof in Proof:
        if proof is not record.derivation.status:
            derivation = record.derivation.model_copy(update={"status": proof})
            others.append(record.model_copy(update={"derivation": derivation}))
    digests = {digest_of(one) for one in (record, *others)}
    assert len(digests) == len(others) + 1


@examples(30)
@given(CLAIM_RECORDS)
def test_sealing(record: ClaimRecord) -> None:
    """The digest covers all but itself, so sealing twice changes nothing; reading back keeps it."""
    sealed = record.sealed()
    assert len(sealed.digest) == 64
    assert sealed.sealed() == sealed
    assert digest_of(ClaimRecord.model_validate_json(sealed.model_dump_json())) == sealed.digest


@examples(30)
@given(RUN_RECORDS)
def test_json_keeps_everything(record: RunRecord) -> None:
    """A record comes back from its JSON text as it was, integers and floats kept apart."""
    text = record.to_json()
    assert text.endswith("}\n")
    again = RunRecord.model_validate_json(text)
    assert again == record
    assert again.to_json() == text
    assert json.loads(text)["schema"] == 2


@examples(20)
@given(CHECKS)
def test_records_are_frozen_and_strict(check: Check) -> None:
    """Nothing can be set, and unknown fields are errors."""
    with pytest.raises(ValidationError, match="frozen"):
        setattr(check, "estimate", 1.0)  # noqa: B010  # mypy would refuse the plain assignment
    with pytest.raises(ValidationError, match="Extra inputs"):
        Check.model_validate({**check.model_dump(), "estimates": 1.0})


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_must_be_finite(value: float) -> None:
    """JSON has no word for infinity or not-a-number, so no record holds one."""
    with pytest.raises(ValidationError, match="finite"):
        Fact(id="f", what="", latex="", value=value)


@pytest.mark.parametrize("name", ["", "Two", "two words", "two_words", "-two", "two-", "two--words", "zwölf"])
def test_ids_are_slugs(name: str) -> None:
    """Ids are lower-case words joined by single hyphens."""
    with pytest.raises(ValidationError, match="pattern"):
        Fact(id=name, what="", latex="", value=1.0)
    assert Fact(id="two-words", what="", latex="", value=1.0).id == "two-words"


class TestExitStatus:
    """What a run ends with."""

    @examples(60)
    @given(RUN_RECORDS)
    def test_the_worst_claim_decides(self, record: RunRecord) -> None:
        """1 for anything refuted or a failed proof, else 3 for anything undecided, else 0."""
        verdicts = {claim.verdict for claim in record.claims}
        proofs = {claim.derivation.status for claim in record.claims}
        status = record.exit_status()
        assert (status == 1) == (Verdict.REFUTED in verdicts or Proof.FAILED in proofs)
        if status != 1:
            assert status == (3 if Verdict.UNDECIDED in verdicts else 0)


@examples(20)
@given(RUN_RECORDS)
def test_a_run_shows_itself_as_text_and_in_notebooks(record: RunRecord) -> None:
    """Every claim has one line of text and one row of escaped HTML."""
    assert len(str(record).splitlines()) >= len(record.claims)
    for claim in record.claims:
        assert escape(claim.title) in claim._repr_html_()
        for check in claim.checks:
            assert check.id in check._repr_html_()
            assert check.id in claim._repr_html_()
    shown = record._repr_html_()
    assert shown.count("<tr>") == len(record.claims) + 1
    for claim in record.claims:
        assert f"<td>{claim.id}</td>" in shown
        assert claim.id in str(record)
