"""Units after a figure: the power of ten that a sign or word there is, and what may be a unit or a mere word.

Possessive quantifiers (``*+``) keep the time in proportion to the text's length.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from decimal import Decimal

_MARKS = r"(?:[*`$\])]|</?\w[^<>]*>)*+"
_GAP = r"(?:[ \t~\u00a0\u202f\u2009]|&nbsp;|&thinsp;|\\,)*+"
_BREAK = r"(?:[ \t]*+\r?\n[ \t>]*+)"
# A line may break before a whole word alone: what starts the next one may be a name, a comment or a list.
_UNIT = re.compile(
    rf"""{_MARKS}(?:
        {_GAP}[*`]*+(?:(?P<percent>\\?%)|(?P<mille>‰))
        |{_GAP}{_BREAK}?[*`]*+(?i:(?P<per_cent>per(?:[ -]|{_BREAK})?cent)
            |(?P<thousand>thousand)|(?P<million>million)|(?P<billion>billion))\b
        |(?P<gap>{_GAP})(?:(?P<k>k|(?<=\d)K)|(?P<M>M))(?=[\s.,;:)\]<*"'`]|$)
    )""",
    re.VERBOSE,
)
_POWERS = {
    "percent": -2, "per_cent": -2, "mille": -3, "thousand": 3, "k": 3, "million": 6, "M": 6, "billion": 9,
}  # fmt: skip
# Words of one to three letters after a figure that are no units, as bn, Mio and T may be.
_SHORT = (
    "a all an and are as at but by did do due far for had has he his how if in is it its low may near nor not"
    " now of off on one or our out per see she so than that the to too two up us via vs was we who yet"
)
# Behind a table's cell the next one is no unit.
_CLOSING = r"(?:[*`$\])]|</\w+>)*+"
_JOINED = re.compile(rf"{_CLOSING}[^\W\d_]")
_WORD = re.compile(
    rf"""{_CLOSING}{_GAP}(?:
        [*`]*+(?!(?:{_SHORT.replace(" ", "|")})\b)(?P<short>[^\W\d_]{{1,3}}(?![\w'’]))
        |{_BREAK}?[*`]*+(?P<long>(?i:hundred|trillion|milliarde?|million|billion|trill|dozen|lakh|crore))
    )""",
    re.VERBOSE,
)
_SAME_SIZE = 3
"""Within this factor a figure has the value's unit: another unit would be a factor of ten or more."""


class Unit(NamedTuple):
    """What stands after a figure: the ``power`` of ten of a unit that is known, or 0.

    ``doubt`` is a word that may as well be none, ``joined`` whether letters are a part of the figure itself.
    """

    power: int = 0
    doubt: str = ""
    joined: bool = False


def unit_after(text: str, end: int, inside: int) -> Unit:
    """Return the unit after the figure that ends there, in a text of which so much is quoted.

    One letter may as well be a symbol: outside the quotation, and apart from the figure, it is in doubt.
    """
    found = _UNIT.match(text, end)
    if found:
        name = str(found.lastgroup)
        apart = name in {"k", "M"} and found.start(name) >= inside and bool(found["gap"])
        return Unit(_POWERS[name], found[name] if apart else "")
    if _JOINED.match(text, end):
        return Unit(joined=True)
    word = _WORD.match(text, end)
    return Unit(doubt=(word["short"] or word["long"]) if word else "")


def is_same_size(old: Decimal, new: Decimal) -> bool:
    """Return whether two numbers are too near each other for one of them to have a unit besides."""
    return bool(old and new) and new.is_finite() and 1 < _SAME_SIZE * (old / new) < _SAME_SIZE**2
