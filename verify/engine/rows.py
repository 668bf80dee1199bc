"""What a row of the store holds, judged when it is read: of its own key, finite, contradicting nothing.

The content of each row begins with the key that it was made for, which is a hash of the claim, the code, the
settings and all else it depends on: what was put under another key is of something else.
"""

from typing import TypeVar

from pydantic import ValidationError

from verify.engine.store import StoreRow
from verify.errors import what_is_wrong
from verify.evidence import ClaimRecord, DerivationRecord, Proof, Settings, digest_of
from verify.evidence.contradictions import contradictions_of_claim, contradictions_of_derivation
from verify.montecarlo.blocks import Sums

_Kind = TypeVar("_Kind", ClaimRecord, DerivationRecord)
_FAILED = "its derivation failed, and such are not kept"
_DIGITS = 15
"""The most that a number of draws has."""


def chunk_of(key: bytes, content: bytes) -> Sums:
    """Return the sums that a row holds.

    Raises:
        ValueError: it holds none, of another key, or what no blocks have for sums.
    """
    sums = Sums.from_bytes(_own(key, content))
    if wrong := sums.contradiction():
        raise ValueError(wrong)
    return sums


def derivation_of(key: bytes, content: bytes) -> str:
    """Return the record of a checked derivation, as JSON, that a row holds.

    Raises:
        ValueError: it holds none, of another key, one that failed, or one that contradicts itself.
    """
    text = _own(key, content).decode()
    record = _validated(DerivationRecord, text)
    if record.status is Proof.FAILED:
        raise ValueError(_FAILED)
    if wrong := next(contradictions_of_derivation(record), ""):
        raise ValueError(wrong)
    return text


def claim_of(key: bytes, content: bytes, chosen: Settings | None = None) -> tuple[ClaimRecord, int]:
    """Return the record of a settled claim that a row holds, and how many numbers it took.

    Without the settings ``chosen``, what follows from them is not judged.

    Raises:
        ValueError: it holds none, of another key, a changed or failed one, or one that contradicts itself.
    """
    draws, _, text = _own(key, content).decode().partition("\n")
    if not (draws.isascii() and draws.isdecimal() and len(draws) <= _DIGITS):
        raise ValueError("it does not say how many numbers it took")
    record = _validated(ClaimRecord, text)
    if record.derivation.status is Proof.FAILED:
        raise ValueError(_FAILED)
    if record.digest != digest_of(record):
        raise ValueError(f"claim {record.id}: its digest does not fit its content")
    if wrong := next(contradictions_of_claim(record, chosen), ""):
        raise ValueError(f"claim {record.id}: {wrong}")
    return record, int(draws)


_READERS = {"chunk": chunk_of, "derivation": derivation_of, "claim": claim_of}


def fault_of(row: StoreRow) -> str:
    """Return what is wrong with the content of a row, empty where nothing is."""
    if row.kind not in _READERS:
        return f"there is no kind {row.kind!r}"
    try:
        _READERS[row.kind](row.key, row.content)
    except ValueError as error:
        return str(error)
    return ""


def _own(key: bytes, content: bytes) -> bytes:
    if not content.startswith(key):
        raise ValueError("it was made for another key")
    return content[len(key) :]


def _validated(kind: type[_Kind], text: str) -> _Kind:
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        raise ValueError(what_is_wrong(error)) from error
