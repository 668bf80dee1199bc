"""What the report shows of the documents: their statements, and what became of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verify.evidence.words import Badge, Tally
    from verify.text.latex import Prose


@dataclass(frozen=True, slots=True)
class PartView:
    """One thing a statement says; ``link`` is the anchor of what decided it, ``name`` what it is called."""

    text: Prose
    printed: str
    computed: str
    badge: Badge
    reason: Prose
    link: str
    name: str


@dataclass(frozen=True, slots=True)
class StatementView:
    """A decided statement with its parts."""

    id: str
    text: Prose
    printed: str
    computed: str
    outcome: Badge
    note: Prose
    parts: tuple[PartView, ...]


@dataclass(frozen=True, slots=True)
class OpenView:
    """An open statement and the ids of the claims it waits for."""

    id: str
    text: Prose
    waits_for: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SourceView:
    """A source document, what became of its statements, and those that are decided."""

    id: str
    title: str
    byline: str
    tallies: tuple[Tally, ...]
    statements: tuple[StatementView, ...]
    open: tuple[OpenView, ...]
