"""What the report shows of false claims, and of theorems tried at points."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FalseKindRow:
    """The false claims of one kind: how many are caught and by what, and how many neighbours pass."""

    kind: str
    caught: str
    of: str
    by: str
    neighbours: str
    in_order: bool


@dataclass(frozen=True, slots=True)
class FalseClaimsView:
    """The campaign in a table, with its totals and what made it."""

    rows: tuple[FalseKindRow, ...]
    kinds: str
    caught: str
    of: str
    neighbours: str
    all_in_order: bool
    command: str


@dataclass(frozen=True, slots=True)
class FalsifiedView:
    """How theorems fared at points, each count in words or digits, with what made it."""

    statements: str
    points: str
    seconds: str
    seed: str
    held: str
    undecided: str
    refuted: str
    stopped: str
    untold: str
    why: str
    none_refuted: bool
    command: str
