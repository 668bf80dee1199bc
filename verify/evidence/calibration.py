"""What is on record of the judge itself: the table of the calibration study."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import model_validator

from verify.evidence.records import Record
from verify.evidence.texts import Count, Line, Many, Seed, Share, Text, Trials, Version, refuse

if TYPE_CHECKING:
    from typing import Self


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
            [
                (self.events > self.trials, "it has more events than trials"),
                (self.low > self.high, "its bounds are upside down"),
            ]
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
                [
                    (one.level is None, f"{one.what!r} is counted together at no level"),
                    (not self.cells(one), f"no row belongs to {one.what!r}, counted together"),
                ]
            )
        return self

    def cells(self, one: Counted) -> tuple[Counted, ...]:
        """Return the rows that ``one`` of ``together`` counts as one."""
        return tuple(
            row
            for row in self.rows
            if (row.what, row.level) == (one.what, one.level) and row.setting.startswith(one.setting)
        )
