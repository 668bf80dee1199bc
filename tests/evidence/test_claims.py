"""What is on record of a claim: its digest sees every change, and keys name each of its parts once."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.report.builders import check, exact_check
from tests.report.score_variance import SCORE_VARIANCE
from tests.strategies import CLAIM_RECORDS, examples
from verify.errors import ClaimError
from verify.evidence import (
    ClaimRecord,
    Fact,
    Proof,
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


@examples(40)
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


@examples(15)
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


@examples(15)
@given(CLAIM_RECORDS)
def test_sealing(record: ClaimRecord) -> None:
    """The digest covers all but itself, so sealing twice changes nothing; reading back keeps it."""
    sealed = record.sealed()
    assert len(sealed.digest) == 64
    assert sealed.sealed() == sealed
    assert digest_of(ClaimRecord.model_validate_json(sealed.model_dump_json())) == sealed.digest


def test_no_two_findings_of_a_claim_have_one_name() -> None:
    """Keys of citations tell checks, controls and facts apart by their ids alone; figures have their own."""
    claim = SCORE_VARIANCE
    fact = Fact(id=claim.checks[0].id, what="", latex="", value=1.0)
    mistakes: list[tuple[dict[str, Any], str]] = [
        ({"facts": (fact,)}, f"{fact.id} is the name of two findings"),
        ({"controls": claim.controls * 2}, "is the name of two findings"),
        ({"series": claim.series * 2}, "is the name of two figures"),
        ({"id": "run"}, "run means something else in keys; choose another id"),
        ({"id": "source"}, "source means something else in keys"),
    ]
    for changes, what in mistakes:
        with pytest.raises(ValidationError, match=what):
            ClaimRecord.model_validate(dict(claim) | changes)
    assert ClaimRecord.model_validate(dict(claim)) == claim


def test_checks_and_controls_are_had_by_id() -> None:
    """Each among its own kind; the message names claim and nearest id in one line."""
    claim = SCORE_VARIANCE
    check, control = claim.checks[0], claim.controls[0]
    assert (claim.check(check.id), claim.control(control.id)) == (check, control)
    for read, name, kind in ((claim.check, control.id, "check"), (claim.control, check.id, "control")):
        with pytest.raises(ClaimError) as caught:
            read(name)
        assert str(caught.value).startswith(f"claim {claim.id}: no {kind} {name!r}")
        assert "\n" not in str(caught.value)


def test_a_claim_is_counted_and_shown_in_a_line() -> None:
    """Checks of computed values apart from those that rest on draws."""
    exact = exact_check("e", 0.5, "1/2", "p")
    claim = SCORE_VARIANCE.model_copy(update={"checks": (check("a", 1, 1), exact, check("b", 1, 1))})
    assert (claim.measured_checks, claim.exact_checks) == (2, 1)
    assert repr(claim) == (
        "ClaimRecord(id='score-variance', verdict='confirmed', derivation='proved', checks=3, "
        f"controls={len(claim.controls)})"
    )
