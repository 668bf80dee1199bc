"""What is on record of the judge itself: calibration, false claims, and theorems tried at points."""

from typing import Self

from pydantic import model_validator

from verify.evidence.records import Record
from verify.evidence.texts import (
    Count,
    Line,
    Many,
    Named,
    Positive,
    Seed,
    Share,
    Slug,
    Text,
    Trials,
    Version,
    refuse,
)


class Counted(Record):
    """One row of the calibration: events counted in independent repetitions.

    ``allowed`` is the probability that the design allows (``at_least`` False) or promises (True); ``low``
    and ``high`` are the exact two-sided bounds of the events' probability. ``setting`` and ``level`` say
    of which cell and at which false-exclusion rate, where rows form a table.
    """

    what: Text
    setting: Text = ""
    level: Share | None = None
    trials: Trials
    events: Count
    allowed: Share
    at_least: bool = False
    low: Share
    high: Share

    @model_validator(mode="after")
    def _counts(self) -> Self:
        refuse(
            (self.events > self.trials, "it has more events than trials"),
            (self.low > self.high, "its bounds are upside down"),
        )
        return self

    @property
    def in_order(self) -> bool:
        """Whether what was counted is compatible with what the design allows or promises."""
        return self.high >= self.allowed if self.at_least else self.low <= self.allowed


class Calibration(Record):
    """How the judge itself fared: the table of the calibration study, with what made it.

    ``together`` counts all cells of the same event and level as one.
    """

    seed: Seed
    command: Line
    version: Version
    confidence: Share
    rows: Many[Counted]
    together: Many[Counted] = ()

    @model_validator(mode="after")
    def _counts_something_together(self) -> Self:
        for one in self.together:
            refuse(
                (one.level is None, f"{one.what!r} is counted together at no level"),
                (not self.cells(one), f"no row belongs to {one.what!r}, counted together"),
            )
        return self

    def cells(self, one: Counted) -> tuple[Counted, ...]:
        """Return the rows that ``one`` of ``together`` counts as one."""
        return tuple(
            row
            for row in self.rows
            if (row.what, row.level) == (one.what, one.level) and row.setting.startswith(one.setting)
        )


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
            (max(self.caught, self.neighbours) > self.of, f"more of kind {self.kind!r} than there are"),
            (sum(self.by.values()) != self.caught, f"those of kind {self.kind!r} do not add up"),
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
