"""Masks that were meant, rows and keys where one is not kept to; and rows of one head in any arrays."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import verify
from tests.auditing.calls import call
from verify.auditing.masks import described, intended_mask
from verify.auditing.recording import Layer, Recording
from verify.errors import SettingsError
from verify.evidence.audits import AuditRecord, Judgement

TOKENS = 24
PLACE = np.arange(TOKENS)
AHEAD = PLACE - PLACE[:, None]
DOCUMENTS = np.repeat([[0, 1, 2]], 8, axis=1).reshape(1, TOKENS)
SEEN: dict[str, Any] = {
    "none": np.ones((TOKENS, TOKENS), dtype=bool),
    "causal": AHEAD <= 0,
    "window=5": (AHEAD <= 0) & (AHEAD > -5),
    "prefix=6": (AHEAD <= 0) | (PLACE < 6),
    "documents": (AHEAD <= 0) & (DOCUMENTS.T == DOCUMENTS),
}


def audited(seen: Any, meant: str, **more: Any) -> AuditRecord:
    """Return an audit of right attention that sees these keys, where another mask may have been meant."""
    one = replace(call(mask=seen), documents=np.repeat(DOCUMENTS, 2, axis=0), **more)
    return verify.audit(Recording("x", [Layer("a", [one])]), intended_mask=meant, workers=1)


@pytest.mark.parametrize("actual", SEEN)
@pytest.mark.parametrize("meant", SEEN)
def test_a_mask_is_right_where_it_is_the_one_that_was_meant(actual: str, meant: str) -> None:
    """Each against each: the first row and key that are wrong are named, and nothing else is refuted."""
    record = audited(SEEN[actual], meant)
    found = [one for one in record.findings if one.kind == "mask"]
    assert len(found) == 1
    if actual == meant:
        assert (record.exit_status, {one.judgement for one in found}) == (0, {Judgement.CONFIRMED})
        return
    row, key = np.argwhere(SEEN[actual] != SEEN[meant])[0]
    does = "does not see" if SEEN[meant][row, key] else "sees"
    assert found[0].cause.startswith(f"row {row} of sequence 0 {does} key {key}, ")
    assert {one.kind for one in record.findings if one.judgement is Judgement.REFUTED} == {"mask"}


@pytest.mark.parametrize("shift", [-1, 1])
def test_a_window_that_is_off_by_one_is_found(shift: int) -> None:
    """One key more or less at its far end."""
    record = audited((AHEAD <= 0) & (-(5 + shift) < AHEAD), "window=5")
    (first, *_) = (one for one in record.findings if one.kind == "mask")
    assert (
        f"row {4 + max(shift, 0)} of sequence 0 {'sees' if shift > 0 else 'does not see'} key 0"
        in first.cause
    )


def test_padding_is_no_wrong_mask() -> None:
    """Keys that are hidden from all were not meant to be seen."""
    padded = SEEN["causal"] & (PLACE < 20)
    assert {one.judgement for one in audited(padded, "causal").findings if one.kind == "mask"} == {
        Judgement.CONFIRMED
    }


def test_decoding_is_aligned_at_the_last_key() -> None:
    """One query sees all keys that there are, if it is the last."""
    one = call(queries=1)
    record = verify.audit(Recording("x", [Layer("a", [one])]), intended_mask="causal", workers=1)
    assert {found.judgement for found in record.findings if found.kind == "mask"} == {Judgement.CONFIRMED}


def test_documents_that_nothing_tells_are_undecided() -> None:
    """Without the number of each token's document what was meant is not known."""
    record = verify.audit(
        Recording("x", [Layer("a", [call(causal=True)])]), intended_mask="documents", workers=1
    )
    (first, *_) = (one for one in record.findings if one.kind == "mask")
    assert (first.judgement, record.exit_status) == (Judgement.UNDECIDED, 3)
    assert "give documents" in first.reason


@pytest.mark.parametrize(
    "text", ["", "all", "window", "window=0", "window=-3", "prefix=x", "window=99999999999"]
)
def test_what_is_no_mask_is_refused(text: str) -> None:
    """One line names those that there are."""
    with pytest.raises(SettingsError, match="give one of none, causal, window=W"):
        intended_mask(text)


@pytest.mark.parametrize("name", ["none", "causal", "window=5"])
def test_masks_are_described_by_their_names(name: str) -> None:
    """Whether they are given as a flag, a mask or a bias."""
    hides = np.where(SEEN[name], 0.0, -np.inf)
    assert described(call(mask=SEEN[name])) == described(call(bias=hides)) == name
    assert described(call(causal=True)) == "causal"
    assert described(call(mask=SEEN["prefix=6"])) == "another"
