"""What is on record of the source documents: their statements, with the outcome that a run computed."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from verify.evidence.records import Record
from verify.evidence.texts import Address, Evidence, Many, Slug, Text

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet


class Outcome(StrEnum):
    """What the run says of a statement of a source document."""

    HOLDS = "holds"
    WITH_CONDITIONS = "holds-with-conditions"
    MISPRINTED = "misprinted"
    WRONG = "wrong"
    OPEN = "open"


class Part(Record):
    """One thing that a statement says, decided by one piece of evidence; ``holds`` is None while open."""

    text: Text
    claim: Slug
    evidence: Evidence
    kind: Literal["says", "prints"]
    printed: Text | None
    computed: Text | None
    holds: bool | None
    reason: Text


class Source(Record):
    """A document that states what is commonly believed.

    ``author``, ``date`` and ``url`` are None where the document, as it reached us, does not say.
    """

    id: Slug
    title: Text
    kind: Text
    author: Text | None = None
    date: Text | None = None
    url: Address | None = None


class Statement(Record):
    """Something a source says, with the outcome that the run computed.

    ``noted`` is the outcome that its note was written for: the known one, which a run may contradict.
    """

    id: Slug
    source: Slug
    text: Text
    claim: Slug | None
    printed: Text | None
    computed: Text | None
    outcome: Outcome
    noted: Outcome | None = None
    note: Text
    parts: Many[Part]

    def contradicts_its_note(self, claims: AbstractSet[str]) -> bool:
        """Return whether the outcome is not the known one, though the ``claims`` run decide all its parts."""
        decided = {part.claim for part in self.parts} <= claims
        return decided and self.noted is not None and self.outcome is not self.noted
