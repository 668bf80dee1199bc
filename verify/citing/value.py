"""What a document may quote: a value with its permanent key, its text, and the figures in it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

from verify.citing.words import DATES
from verify.text import numbers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verify.report.citation import Part, Subject

DIGEST, DATE, VERSION = "[0-9a-f]{12,64}", "|".join(DATES), r"\d+(?:\.\w+)+"
"""Patterns of what may stand in place of a digest, of which twelve signs will do, a date and a version."""

Rounding = Literal["nearest", "down", "up", "under", "exact"]
"""Which way digits are left out, an interval's ends outwards; under: down, but never to 0, for it is no end;
exact: none may be, and no other notation, for it is a name."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number in a value's text: what it was rounded from, and which way."""

    exact: Decimal
    rounding: Rounding = "nearest"


@dataclass(frozen=True, slots=True)
class Value:
    """What a key stands for: its text as printed, the figures in it in order, and where it comes from.

    ``subject`` and ``part`` are what a citation of it cites, None for values of a whole run and of the
    sources' statements. ``anchor`` is the place in the report. ``kind`` is a pattern of all words that may
    stand in this value's place, such as the verdicts; nothing for figures and free text. ``doubt`` says why
    what rests on the value has to be written again, and is empty where it may be quoted. ``total`` is what a
    count is a part of. ``is_formatted`` says that its document asked for this form of the text, ``is_free``
    that a text of the document's own stands in its place, whose figures alone are held against it.
    """

    key: str
    text: str
    figures: tuple[Figure, ...]
    anchor: str
    subject: Subject | None = None
    part: Part | None = None
    kind: str = ""
    doubt: str = ""
    total: Figure | None = None
    is_formatted: bool = False
    is_free: bool = False


Text = tuple[str, str, tuple[Figure, ...]]
"""What a key ends with, the text there, and the figures in that."""


def one_of(words: Iterable[str]) -> str:
    """Return a pattern of these words, the longest first, with hyphens or spaces."""
    longest_first = sorted(words, key=len, reverse=True)
    return "|".join(re.escape(word).replace(r"\-", "[- ]") for word in longest_first)


def counted(number: int) -> tuple[str, tuple[Figure, ...]]:
    """Return the text and the figure of a count."""
    return numbers.count(number), (Figure(Decimal(number)),)


def level_text(level: float) -> tuple[str, tuple[Figure, ...]]:
    """Return the text of a confidence level and its figures, of which one near 1 has two."""
    shown = numbers.level(level)
    if shown.startswith(f"1{numbers.NO_BREAK}"):
        return shown, (Figure(Decimal(1)), Figure(decimal(1 - level)))
    return shown, (Figure(decimal(100 * level) if level < 1 else Decimal(1)),)


def decimal(value: float) -> Decimal:
    """Return the shortest decimal number that is this float.

    Raises:
        ValueError: it is not finite.
    """
    if not math.isfinite(value):
        raise ValueError(f"a record holds only finite numbers, not {value}")
    return Decimal(repr(float(value)))
