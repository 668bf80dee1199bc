"""How a run differs from an earlier one: claims, checks and statements that came, went or changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from verify.evidence.provenance import digest, origin
from verify.evidence.words import badge
from verify.text import numbers
from verify.text.latex import Prose

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from verify.evidence import Check, ClaimRecord, RunRecord

_NEW, _GONE = "not there", "gone"


class Change(NamedTuple):
    """What became of a claim, a check or a statement; ``link`` is its anchor, empty if it is gone."""

    link: str
    key: str
    what: Prose
    before: str
    after: str
    tone: str


class Changes(NamedTuple):
    """How a run differs from an earlier one, which ``earlier`` names; ``same`` claims have their digest."""

    earlier: str
    claims: tuple[Change, ...]
    checks: tuple[Change, ...]
    statements: tuple[Change, ...]
    same: int


class _Seen(NamedTuple):
    """One thing as a run shows it: its anchor, what it is, what was found, and the tone of that."""

    link: str
    what: str
    found: str
    tone: str


def changes(earlier: RunRecord, record: RunRecord) -> Changes:
    """Return how a run differs from an earlier one.

    A check has changed if its verdict has, or if the estimates lie outside each other's intervals: what is
    drawn again always differs in its last digits.
    """
    old, new = ({claim.id: claim for claim in one.claims} for one in (earlier, record))
    both = old.keys() & new.keys()
    return Changes(
        earlier=f"{earlier.tool.version}, {origin(earlier)}, digest {digest(earlier)[:16]}",
        claims=tuple(_changed(_claims(earlier), _claims(record))),
        checks=tuple(change for name in new if name in both for change in _moved(old[name], new[name])),
        statements=tuple(_changed(_statements(earlier), _statements(record))),
        same=sum(old[name].digest == new[name].digest for name in both),
    )


def _claims(record: RunRecord) -> dict[str, _Seen]:
    seen = {}
    for claim in record.claims:
        verdict, proof = badge(claim.verdict), badge(claim.derivation.status)
        seen[claim.id] = _Seen(claim.id, claim.title, f"{proof.word}, {verdict.word}", verdict.tone)
    return seen


def _statements(record: RunRecord) -> dict[str, _Seen]:
    seen = {}
    for one in record.statements:
        outcome = badge(one.outcome)
        seen[one.id] = _Seen(f"statement-{one.id}", one.text, outcome.word, outcome.tone)
    return seen


def _changed(old: Mapping[str, _Seen], new: Mapping[str, _Seen]) -> Iterator[Change]:
    """Yield what is found otherwise than before, what is new and what is gone, in the order of the new."""
    for key, one in new.items():
        before = old[key].found if key in old else _NEW
        if before != one.found:
            yield Change(one.link, key, Prose(one.what), before, one.found, one.tone)
    for key, one in old.items():
        if key not in new:
            yield Change("", key, Prose(one.what), one.found, _GONE, "idle")


def _moved(old: ClaimRecord, new: ClaimRecord) -> Iterator[Change]:
    """Yield the checks of a claim that changed."""
    before = {check.id: check for check in old.checks}
    after = {check.id: check for check in new.checks}
    for name, check in after.items():
        key = f"{new.id}.{name}"
        tone = badge(check.verdict).tone
        if name not in before:
            yield Change(key, key, Prose(check.quantity), _NEW, _found(check), tone)
        elif _differ(before[name], check):
            yield Change(key, key, Prose(check.quantity), _found(before[name]), _found(check), tone)
    for name, check in before.items():
        if name not in after:
            yield Change("", f"{new.id}.{name}", Prose(check.quantity), _found(check), _GONE, "idle")


def _differ(one: Check, other: Check) -> bool:
    """Whether two checks say different things: in their verdict, their prediction or their estimate."""
    if one.verdict is not other.verdict or one.prediction != other.prediction:
        return True
    if "exact" in {one.method, other.method}:
        return one.estimate != other.estimate
    (low, high), (lowest, highest) = one.interval, other.interval
    return not (low <= other.estimate <= high and lowest <= one.estimate <= highest)


def _found(check: Check) -> str:
    shown = numbers.estimate(check.estimate, check.standard_error, check.interval)
    return f"{shown.value}{shown.times}, {badge(check.verdict).word}"
