"""What the report shows of the study of its own judge."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class EventRow:
    """One kind of event: how often it happened, its exact bounds, and what the design says."""

    what: str
    trials: str
    events: str
    bounds: str
    design: str
    in_order: bool


@dataclass(frozen=True, slots=True)
class Blind:
    """The smallest level tried at which no interval missed, and the rate that so many trials can exclude."""

    level: str
    trials: str
    bound: str


@dataclass(frozen=True, slots=True)
class CalibrationView:
    """The calibration study in two tables, with what made it and how far down it can see."""

    levels: tuple[LevelRow, ...]
    events: tuple[EventRow, ...]
    blind: Blind | None
    confidence: str
    seed: str
    command: str
