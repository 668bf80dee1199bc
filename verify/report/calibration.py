"""How the judge itself fared, as the method chapter prints it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scipy.stats import binomtest

from verify.report import numbers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from verify.evidence import Calibration, Counted


@dataclass(frozen=True)
class LevelRow:
    """All cells tried at one level: how often the interval missed, with exact bounds, and the worst cell.

    ``what`` names the event in the first of the rows about it and is empty in the others.
    """

    what: str
    level: str
    cells: str
    trials: str
    events: str
    rate: str
    bounds: str
    worst: str
    in_order: bool


@dataclass(frozen=True)
class EventRow:
    """One kind of event: how often it happened, its exact bounds, and what the design says."""

    what: str
    trials: str
    events: str
    bounds: str
    design: str
    in_order: bool


@dataclass(frozen=True)
class Blind:
    """The smallest level tried at which no interval missed, and the rate that so many trials can exclude."""

    level: str
    trials: str
    bound: str


@dataclass(frozen=True)
class CalibrationView:
    """The calibration study in two tables, with what made it and how far down it can see."""

    levels: tuple[LevelRow, ...]
    events: tuple[EventRow, ...]
    blind: Blind | None
    confidence: str
    seed: str
    command: str


def calibration(table: Calibration | None) -> CalibrationView | None:
    """Return the stored study as the report prints it, or None where the run holds none."""
    if table is None:
        return None
    by_level: dict[tuple[str, float], list[Counted]] = {}
    for row in table.rows:
        if row.level is not None:
            by_level.setdefault((row.what, row.level), []).append(row)
    events = list(dict.fromkeys(what for what, _ in by_level))
    order = sorted(by_level, key=lambda key: (events.index(key[0]), -key[1]))
    return CalibrationView(
        levels=tuple(
            _of_level(
                "" if place and order[place - 1][0] == key[0] else key[0],
                key[1],
                by_level[key],
                table.confidence,
            )
            for place, key in enumerate(order)
        ),
        events=tuple(_event(row) for row in table.rows if row.level is None),
        blind=_blind(by_level, table.confidence),
        confidence=numbers.percent(table.confidence),
        seed=str(table.seed),
        command=table.command,
    )


def _blind(by_level: Mapping[tuple[str, float], Sequence[Counted]], confidence: float) -> Blind | None:
    if not by_level:
        return None
    key = min(by_level, key=lambda key: (key[1], -sum(row.trials for row in by_level[key])))
    trials, events = (sum(getattr(row, name) for row in by_level[key]) for name in ("trials", "events"))
    if events:
        return None
    bound = binomtest(0, trials).proportion_ci(confidence).high
    return Blind(numbers.small(key[1]), numbers.count(trials), numbers.small(bound))


def _of_level(what: str, level: float, rows: Sequence[Counted], confidence: float) -> LevelRow:
    trials, events = sum(row.trials for row in rows), sum(row.events for row in rows)
    worst = max(rows, key=lambda row: row.events / row.trials)
    bounds = binomtest(events, trials).proportion_ci(confidence)
    where = f"{worst.events} of {numbers.count(worst.trials)}: {worst.setting}"
    return LevelRow(
        what=what[:1].upper() + what[1:],
        level=numbers.small(level),
        cells=numbers.count(len(rows)),
        trials=numbers.count(trials),
        events=numbers.count(events),
        rate=numbers.small(events / trials) if events else "0",
        bounds=f"{numbers.small(bounds.low) if events else 0} to {numbers.small(bounds.high)}",
        worst=where if worst.events else "",
        in_order=all(row.in_order for row in rows),
    )


def _event(row: Counted) -> EventRow:
    low = numbers.small(row.low) if row.low else "0"
    side = "at least" if row.at_least else "at most"
    return EventRow(
        what=f"{row.what} ({row.setting})" if row.setting else row.what,
        trials=numbers.count(row.trials),
        events=numbers.count(row.events),
        bounds=f"{low} to {numbers.small(row.high)}",
        design=f"{side} {numbers.small(row.allowed)}",
        in_order=row.in_order,
    )
