"""What is on record of attempts to get past the tool: false claims, and points at which theorems may fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import model_validator

from verify.evidence.records import Record
from verify.evidence.texts import Count, Line, Many, Named, Positive, Seed, Slug, Version, refuse

if TYPE_CHECKING:
    from typing import Self


class FalseKind(Record):
    """The false claims of one kind: ``of`` how many, how many are ``caught``, and ``by`` what how many.

    Beside each is the nearest true claim; ``neighbours`` counts those that are proved and confirmed.
    """

    kind: Slug
    of: Count
    caught: Count
    by: Named[Count]
    neighbours: Count

    @model_validator(mode="after")
    def _counts(self) -> Self:
        refuse(
            [
                (max(self.caught, self.neighbours) > self.of, f"more of kind {self.kind!r} than there are"),
                (sum(self.by.values()) != self.caught, f"those of kind {self.kind!r} do not add up"),
            ]
        )
        return self


class FalseClaims(Record):
    """How claims fared that are false: the table of the campaign, with what made it."""

    command: Line
    version: Version
    kinds: Many[FalseKind]

    @property
    def of(self) -> int:
        """How many false claims there are."""
        return sum(one.of for one in self.kinds)

    @property
    def caught(self) -> int:
        """How many of them are caught."""
        return sum(one.caught for one in self.kinds)

    @property
    def neighbours(self) -> int:
        """How many of the true neighbours pass."""
        return sum(one.neighbours for one in self.kinds)


class Falsified(Record):
    """How the catalogue's theorems fared at points, added up over all ``statements``.

    ``held``, ``undecided`` and ``refuted`` count points; ``stopped`` are the statements for which ``seconds``
    did not do, ``untold`` those of which no point told anything. ``why`` are the reasons that most statements
    have for a point undecided, with how many statements these are.
    """

    command: Line
    version: Version
    seed: Seed
    points: Count
    seconds: Positive
    statements: Count
    held: Count
    undecided: Count
    refuted: Count
    stopped: Count
    untold: Count
    why: Named[Count]
