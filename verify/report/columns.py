"""Columns of numbers: aligned on the decimal point, and wide enough that none touch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.report.views import Cell
from verify.text import numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from verify.evidence.words import Badge
    from verify.report.audits.views import FoundRow
    from verify.report.views import ControlView, RowView

# Advances of Source Sans in em; its figures all have the same.
_FIGURE, _POINT, _TIMES, _SUPERSCRIPT = 0.497, 0.249, 0.497, 0.36
_WIDTHS = dict.fromkeys(".,", _POINT) | dict.fromkeys("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", _SUPERSCRIPT)
_WIDTHS |= {" ": 0.2, numbers.NO_BREAK: 0.2, numbers.GAP: 0.12, "/": 0.35, "[": 0.3, "]": 0.3, "M": 0.73}
_ROOM = 1.1  # em between two columns: the cells' padding, and a little air
_MARK = 1.3  # em of a verdict's sign before its word
_LETTER = 0.43  # em of a letter of a verdict, on average
# What the heads of columns need; a column is as wide as its widest number if that is wider.
_CHECK_HEADS = (4.2, 3.85, 4.15, 4.3, 4.3, 6.25, 3.1)
_CONTROL_HEADS = (4.4, 4.2, 2.8, 4.0)
_FOUND_HEADS = (4.15, 4.3, 3.0, 3.0, 5.6, 4.6)


def aligned(texts: Sequence[str]) -> tuple[Cell, ...]:
    """Return the texts of a column as cells whose decimal points line up.

    Where some have a power of ten and some have none, those without line up among themselves.
    """
    mixed = len({"×" in text for text in texts if text}) > 1
    tails = [0.0 if mixed and "×" in text else _tail(text) for text in texts]
    longest = max(tails, default=0.0)
    return tuple(
        Cell(text, 0.0 if not text or (mixed and "×" in text) else round(longest - tail, 3))
        for text, tail in zip(texts, tails, strict=True)
    )


def check_widths(rows: Sequence[RowView]) -> tuple[float, ...]:
    """Return how wide (em) the columns after the first of a table of checks are, so that none touch."""
    if not rows:
        return ()
    cells = [(row.predicted, row.estimate, row.error, row.low, row.high) for row in rows]
    numbers_wide = [[_width(cell.text) + cell.pad for cell in column] for column in zip(*cells, strict=True)]
    others = [[_width(row.sample) for row in rows], [_badge_width(row.verdict) for row in rows]]
    return _columns(_CHECK_HEADS, [*numbers_wide, *others])


def found_widths(rows: Sequence[FoundRow]) -> tuple[float, ...]:
    """Return how wide (em) the columns after the first of a table of an audit are, so that none touch."""
    if not rows:
        return ()
    cells = [(row.estimate, row.error, row.low, row.high) for row in rows]
    numbers_wide = [[_width(cell.text) + cell.pad for cell in column] for column in zip(*cells, strict=True)]
    others = [[_width(row.against) for row in rows], [_badge_width(row.badge) for row in rows]]
    return _columns(_FOUND_HEADS, [*numbers_wide, *others])


def control_widths(rows: Sequence[ControlView]) -> tuple[float, ...]:
    """Return how wide (em) the columns after the first of a table of controls are, so that none touch."""
    if not rows:
        return ()
    cells = [(row.predicted, row.found, row.power) for row in rows]
    numbers_wide = [[_width(text) for text in column] for column in zip(*cells, strict=True)]
    return _columns(_CONTROL_HEADS, [*numbers_wide, [_badge_width(row.verdict) for row in rows]])


def _badge_width(badge: Badge) -> float:
    return _MARK + _LETTER * len(badge.word)


def _columns(heads: Sequence[float], texts: Sequence[Iterable[float]]) -> tuple[float, ...]:
    return tuple(round(max([head, *widths]) + _ROOM, 2) for head, widths in zip(heads, texts, strict=True))


def _width(text: str) -> float:
    """Return about how wide a number with its signs is, as a table sets it."""
    return sum(_WIDTHS.get(sign, _FIGURE) for sign in text)


def _tail(text: str) -> float:
    whole, _, power = text.partition("×")
    _, point, fraction = whole.partition(".")
    width = _POINT + len(fraction) * _FIGURE if point else 0.0
    if power:
        width += _TIMES + 2 * _FIGURE + (len(power) - 2) * _SUPERSCRIPT
    return width
