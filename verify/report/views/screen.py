"""What only the page for the screen shows of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verify.text.latex import Prose


@dataclass(frozen=True, slots=True)
class MeasuredSide:
    """Measured values of one side; ``points`` are ``d:value:low:high``, with spaces between them."""

    name: str
    points: str


@dataclass(frozen=True, slots=True)
class MeasuredPanel:
    """A panel of the explorer with measured values, on an axis from ``low`` to ``high``."""

    name: str
    title: Prose
    words: str
    logarithmic: bool
    low: str
    high: str
    sides: tuple[MeasuredSide, ...]


@dataclass(frozen=True, slots=True)
class ChangeView:
    """What became of a claim, a check or a statement; ``link`` is its anchor, empty if it is gone."""

    link: str
    key: str
    what: Prose
    before: str
    after: str
    tone: str


@dataclass(frozen=True, slots=True)
class ChangesView:
    """How a run differs from an earlier one, which ``earlier`` names."""

    earlier: str
    claims: tuple[ChangeView, ...]
    checks: tuple[ChangeView, ...]
    statements: tuple[ChangeView, ...]
    same: int
