"""What is on record of a claim: its digest sees every change, and keys name each of its parts once."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.strategies import CLAIM_RECORDS, examples
from verify.evidence import (
    ClaimRecord,
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
