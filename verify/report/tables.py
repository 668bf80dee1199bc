"""Columns of numbers aligned on the decimal point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# Advances of Source Sans in em; its figures all have the same.
_FIGURE, _POINT, _GAP, _TIMES, _SUPERSCRIPT = 0.497, 0.249, 0.2, 0.497, 0.36


@dataclass(frozen=True, slots=True)
class Cell:
    """A number in a right-aligned column; ``pad`` (em) keeps its decimal point under the others'."""

    text: str
    pad: float


def aligned(texts: Sequence[str]) -> tuple[Cell, ...]:
    """Return the texts of a column as cells whose decimal points line up; empty texts stay empty."""
    tails = [_tail(text) for text in texts]
    longest = max(tails, default=0.0)
    return tuple(
        Cell(text, round(longest - tail, 3) if text else 0.0) for text, tail in zip(texts, tails, strict=True)
    )


def _tail(text: str) -> float:
    whole, _, power = text.partition("×")
    _, point, fraction = whole.partition(".")
    width = _POINT + len(fraction) * _FIGURE if point else 0.0
    if power:
        width += _TIMES + 2 * _FIGURE + (len(power) - 2) * _SUPERSCRIPT
    return width
