"""Values that are words, dates, digests or small counts, in the forms in which documents write them."""

from __future__ import annotations

import re
from datetime import date
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_MONTH = "|".join(rf"{name}|{name[:3]}\.?" for name in _MONTHS)
_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_LONGEST_COUNT = 1000


def spelled(count: int) -> str:
    """Return a count below 1000 in words, such as ``forty-seven`` or ``three hundred and twelve``."""
    if count < 20:
        return _ONES[count]
    if count < 100:
        ten, one = divmod(count, 10)
        return _TENS[ten - 2] + (f"-{_ONES[one]}" if one else "")
    hundreds, rest = divmod(count, 100)
    return f"{_ONES[hundreds]} hundred" + (f" and {spelled(rest)}" if rest else "")


@cache
def _counts() -> dict[str, int]:
    return {spelled(count).replace("-", " "): count for count in range(_LONGEST_COUNT)}


@cache
def _spelled_pattern() -> re.Pattern[str]:
    word = "|".join(sorted((*_ONES, *_TENS, "hundred"), key=len, reverse=True))
    return re.compile(rf"\b(?:{word})(?:[ -](?:and )?(?:{word})\b)*+\b", re.IGNORECASE)


def counts_in(text: str) -> tuple[tuple[int, int, int], ...]:
    """Return the counts written in words, each with where it starts and ends."""
    found = []
    for match in _spelled_pattern().finditer(text):
        count = _counts().get(" ".join(match[0].lower().replace("-", " ").split()))
        if count is not None:
            found.append((count, *match.span()))
    return tuple(found)


def recounted(text: str, count: int) -> str | None:
    """Return a text with another count in the place of its only one, None if there are others or none."""
    counts = counts_in(text)
    if len(counts) != 1 or not 0 <= count < _LONGEST_COUNT:
        return None
    _, start, end = counts[0]
    return text[:start] + cased(text[start:end], spelled(count)) + text[end:]


def cased(old: str, new: str) -> str:
    """Return a word in the case in which the old one was written."""
    if old.isupper():
        return new.upper()
    return new[:1].upper() + new[1:] if old[:1].isupper() else new


DATES = (
    r"\d{4}-\d\d-\d\d",
    rf"\d{{1,2}}\.? (?:{_MONTH})(?:,? \d{{4}})",
    rf"(?:{_MONTH}) \d{{1,2}}, \d{{4}}",
    r"\d{1,2}\. ?\d{1,2}\. ?\d{4}",
)
"""Patterns of the ways to write a date; one in numbers between solidi means two days, and is none."""


def read_date(text: str) -> date | None:
    """Return the day that a text is, None if it is none."""
    form = _form_of(text)
    if form is None:
        return None
    numbers = [int(one) for one in re.findall(r"\d+", text)]
    month = next((i for i, name in enumerate(_MONTHS, 1) if re.search(rf"\b{name[:3]}", text)), 0)
    order: dict[int, Callable[[], tuple[int, ...]]] = {
        0: lambda: tuple(numbers),
        1: lambda: (numbers[1], month, numbers[0]),
        2: lambda: (numbers[1], month, numbers[0]),
        3: lambda: tuple(reversed(numbers)),
    }
    try:
        year, month, day = order[form]()
        return date(year, month, day)
    except ValueError:
        return None


def rewritten_date(old: str, new: str) -> str:
    """Return a day, given as 2026-11-21, in the form in which another is written."""
    form, day = _form_of(old), date.fromisoformat(new)
    named = re.search(_MONTH, old)
    month = _MONTHS[day.month - 1]
    if named and named[0] not in _MONTHS:
        month = month[:3] + "." * named[0].endswith(".")
    comma = "," if "," in old else ""
    if form == 1:
        return f"{day.day}{'.' * bool(re.match(r'[0-9]+[.]', old))} {month}{comma} {day.year}"
    if form == 2:
        return f"{month} {day.day}, {day.year}"
    if form == 3:
        gap = " " if " " in old else ""
        return f"{day.day}.{gap}{day.month}.{gap}{day.year}"
    return new


def _form_of(text: str) -> int | None:
    return next((i for i, pattern in enumerate(DATES) if re.fullmatch(pattern, text)), None)
