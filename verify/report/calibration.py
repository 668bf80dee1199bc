"""The calibration study, as the method chapter prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.report.views import Blind, CalibrationView, EventRow, LevelRow
from verify.text import numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verify.evidence import Calibration, Counted


def calibration(table: Calibration | None) -> CalibrationView | None:
    """Return the stored study as the report prints it, or None where the run holds none."""
    if table is None:
        return None
    cells = [table.cells(one) for one in table.together]
    firsts = {_event_of(one): one for one in reversed(table.together)}
    return CalibrationView(
        levels=tuple(
            _of_level(one, rows, first=firsts[_event_of(one)] is one)
            for one, rows in zip(table.together, cells, strict=True)
        ),
        events=tuple(_event(row) for row in table.rows if row.level is None),
        blind=_blind(table.together),
        confidence=numbers.percent(table.confidence),
        seed=str(table.seed),
        command=table.command,
    )


def _event_of(one: Counted) -> str:
    return f"{one.what}: {one.setting}" if one.setting else one.what


def _blind(together: Sequence[Counted]) -> Blind | None:
    """Return the row of the smallest level, of which the best tried one, if nothing was missed there."""
    lowest = min(together, key=lambda one: (one.level, -one.trials), default=None)
    if lowest is None or lowest.level is None or lowest.events:
        return None
    return Blind(numbers.small(lowest.level), numbers.count(lowest.trials), numbers.small(lowest.high))


def _of_level(one: Counted, rows: Sequence[Counted], *, first: bool) -> LevelRow:
    worst = max(rows, key=lambda row: row.events / row.trials)
    where = f"{worst.events} of {numbers.count(worst.trials)}: {worst.setting}"
    return LevelRow(
        what=_event_of(one)[:1].upper() + _event_of(one)[1:] if first else "",
        level=numbers.small(one.level or 0.0),
        cells=numbers.count(len(rows)),
        trials=numbers.count(one.trials),
        events=numbers.count(one.events),
        rate=numbers.small(one.events / one.trials) if one.events else "0",
        bounds=_bounds(one),
        worst=where if worst.events else "",
        in_order=all(row.in_order for row in (one, *rows)),
    )


def _bounds(row: Counted) -> str:
    return f"{numbers.small(row.low) if row.low else 0} to {numbers.small(row.high)}"


def _event(row: Counted) -> EventRow:
    side = "at least" if row.at_least else "at most"
    return EventRow(
        what=f"{row.what} ({row.setting})" if row.setting else row.what,
        trials=numbers.count(row.trials),
        events=numbers.count(row.events),
        bounds=_bounds(row),
        design=f"{side} {numbers.small(row.allowed)}",
        in_order=row.in_order,
    )
