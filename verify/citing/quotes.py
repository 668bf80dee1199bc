"""Holds what a document quotes against the present value, to the digits that it quotes; mends it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import TYPE_CHECKING

from verify.report import numbers
from verify.report.citation import LOWERED

if TYPE_CHECKING:
    from verify.citing.values import Figure, Value

_GROUPS = r"(?:,|\{,\}|\\,|[\u202f\u2009\u00a0'’])"
_POWER = r"""\s*(?:×|x|\*|·|\\times|\\cdot)\s*10(?:\^?\{?(?P<power>[-−]?\d+)\}?|(?P<raised>[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)
        |<sup>(?P<sup>[-−]?\d+)</sup>)"""
_SHARED = re.compile(rf"[\[(](?P<inside>[^\[\]()]*)[\])]{_POWER}", re.VERBOSE)
_NUMBER = re.compile(
    rf"""(?P<sign>(?<![\w.)\]])[-−])?
    (?P<digits>(?:\d{{1,3}}(?:{_GROUPS}\d{{3}})+(?!\d)|\d+)(?:\.\d+)?|(?<!\d)\.\d+)
    (?:{_POWER}|[eE](?P<e>[-+−]?\d+)(?!\w))?""",
    re.VERBOSE,
)
_ROUNDINGS = {"nearest": ROUND_HALF_EVEN, "down": ROUND_FLOOR, "up": ROUND_CEILING}


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it stands in a text; ``place`` is the power of ten of its last digit."""

    value: Decimal
    place: int
    start: int
    end: int

    def agrees(self, figure: Figure) -> bool:
        """Whether the figure, rounded its own way to as many digits, is this number."""
        unit = Decimal(1).scaleb(self.place)
        if figure.rounding == "nearest":
            return abs(self.value - figure.exact) <= unit / 2
        return self.value == _rounded(figure.exact, self.place, figure.rounding)


def numbers_in(text: str) -> tuple[Number, ...]:
    """Return the numbers of a text: plain, in groups of three, with powers of ten of every usual spelling.

    A minus sign counts where no letter, digit or bracket is before it; a range such as 1–2 is two numbers.
    A power of ten after a bracket is that of all numbers in it.
    """
    found: list[Number] = []
    end = 0
    for shared in _SHARED.finditer(text):
        power = _exponent(shared)
        found += (_number(match) for match in _NUMBER.finditer(text, end, shared.start("inside")))
        found += (_number(match, power) for match in _NUMBER.finditer(text, *shared.span("inside")))
        end = shared.end()
    found += (_number(match) for match in _NUMBER.finditer(text, end))
    return tuple(found)


def agrees(quoted: str, value: Value) -> bool:
    """Return whether a quotation says what the value is now.

    Of a value with figures, only these count, in their order, each to the digits that are quoted; of one
    in words, all words, whatever their case.
    """
    if not value.figures:
        return _bare(quoted) == _bare(value.text)
    found = numbers_in(quoted)
    return len(found) == len(value.figures) and all(
        number.agrees(figure) for number, figure in zip(found, value.figures, strict=True)
    )


def mended(quoted: str, value: Value) -> str:
    """Return the quotation with the present figures, in its own words and to at most its own digits.

    Where its figures are not those of the value in number, or share a power of ten, the value's text takes
    its place.
    """
    if agrees(quoted, value):
        return quoted
    found, printed = numbers_in(quoted), numbers_in(value.text)
    shared = _SHARED.search(quoted) or _SHARED.search(value.text)
    if shared or not value.figures or len(found) != len(value.figures):
        return _dressed(quoted, value.text)
    text, end = "", 0
    for old, now, figure in zip(found, printed, value.figures, strict=True):
        text += quoted[end : old.start] + _anew(quoted[old.start : old.end], old, now, figure, value.text)
        end = old.end
    return text + quoted[end:]


def _anew(old_text: str, old: Number, now: Number, figure: Figure, canonical: str) -> str:
    """Return one figure of a quotation: as it is if it is right, else anew."""
    if old.agrees(figure):
        return old_text
    place = max(old.place, now.place)
    if place > 0 or "10" in old_text[3:] or "e" in old_text.lower():
        return canonical[now.start : now.end]
    plain = f"{_rounded(figure.exact, place, figure.rounding):,f}"
    if "," not in old_text:
        plain = plain.replace(",", "")
    return plain.replace("-", numbers.MINUS) if "−" in old_text or "-" not in old_text else plain


def _dressed(quoted: str, text: str) -> str:
    """Return the text between the marks that stood around the quotation, such as a code span's."""
    marks = re.match(r"\s*([`*_]*)", quoted)
    around = marks[1] if marks and quoted.rstrip().endswith(marks[1]) else ""
    return f"{around}{text}{around}"


def _exponent(match: re.Match[str]) -> int:
    raised = (match["raised"] or "").translate(LOWERED)
    return int((match["power"] or raised or match["sup"] or "0").replace("−", "-"))


def _number(match: re.Match[str], shared: int = 0) -> Number:
    digits = re.sub(_GROUPS, "", match["digits"])
    power = shared + (int(match["e"].replace("−", "-")) if match["e"] else _exponent(match))
    _, _, fraction = digits.partition(".")
    value = Decimal(digits).scaleb(power)
    return Number(-value if match["sign"] else value, power - len(fraction), match.start(), match.end())


def _rounded(value: Decimal, place: int, rounding: str) -> Decimal:
    unit = Decimal(1).scaleb(place)
    return (value / unit).quantize(Decimal(1), rounding=_ROUNDINGS[rounding]) * unit


def _bare(text: str) -> str:
    """Return the words alone: no marks of emphasis or code, no differences of case, space or hyphen."""
    return " ".join(re.sub(r"[`*_]|</?\w+>", "", text).replace("-", " ").lower().split())
