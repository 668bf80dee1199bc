"""What a text says: its numbers in every usual spelling with the units after them, counts in words, dates.

Possessive quantifiers (``*+``) keep the time in proportion to the text's length.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from functools import cache, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Literal, NamedTuple

from verify.text.escapes import LOWERED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Rounding = Literal["nearest", "down", "up", "under", "exact"]
"""Which way digits are left out, an interval's ends outwards; under: down, but never to 0, for it is no end;
exact: none may be, and no other notation, for it is a name."""


_UNIT_MARKS = r"(?:[*`$\])]|</?\w[^<>]*>)*+"
_GAP = r"(?:[ \t~\u00a0\u202f\u2009]|&nbsp;|&thinsp;|\\,)*+"
_BREAK = r"(?:[ \t]*+\r?\n[ \t>]*+)"
# A line may break before a whole word alone: what starts the next one may be a name, a comment or a list.
_UNIT = re.compile(
    rf"""{_UNIT_MARKS}(?:
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
    """Return the unit after the figure that ends there, where the text is quoted up to ``inside``.

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


_GROUPS = r"(?:,|\{,\}|\\,|[\u202f\u2009\u00a0'’]|&nbsp;|&thinsp;)"
_POWER = r"""\s*(?:×|x|\*|·|\\times|\\cdot)\s*10(?:\^?\{?(?P<power>[-−]?\d{1,4})(?!\d)\}?
        |(?P<raised>⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,4})|<sup>(?P<sup>[-−]?\d{1,4})</sup>)"""
_SHARED = re.compile(rf"[\[(](?P<inside>[^\[\]()]*)[\])]{_POWER}", re.VERBOSE)
SHARED_POWER = re.compile(rf"[^\[\]()]*[\])]{_POWER}", re.VERBOSE)
"""What follows a number in a bracket whose power of ten it shares."""


def _pattern(groups: str, point: str = r"\.") -> re.Pattern[str]:
    # A sign after + or / belongs to a notation such as +/-; see `verify.citing.notation`.
    return re.compile(
        rf"""(?P<sign>(?<![\w.)\]+/])(?:[-−–+]|&minus;))?
        (?P<digits>(?:[1-9]\d{{0,2}}(?:{groups}\d{{3}})+(?!\d)|\d+)(?:(?P<point>{point})\d+)?|(?<!\d)\.\d+)
        (?:{_POWER}|[eE](?P<e>[-+−]?\d{{1,4}})(?!\w))?""",
        re.VERBOSE,
    )


_NUMBER = _pattern(_GROUPS)
_SPACED = _pattern(rf"(?:[ ]|{_GROUPS})")
_COMMA = _pattern(r"(?:\.|\\,|[\u202f\u2009\u00a0'’]|&nbsp;|&thinsp;)", r"(?:,|\{,\})")
_DECIMAL_COMMA = re.compile(r"\d(?:,|\{,\})\d")
# After a figure, whatever its marks and unit, a dash makes a range.
_CLOSED = re.compile(
    r"(?:[\d%‰][)\]]?|\d[ ]?[kKM]|(?i:per[ -]?cent|thousand|million|billion))"
    r"(?:[*`$\u00a0\u202f\u2009]|&nbsp;|&thinsp;|</\w[^<>]*>)*$"
)
# What stands between figures that share the unit after the last: 99.1–99.5%, 99 [98, 100]%.
_JOINT = re.compile(r"[\s$*`]*+(?:(?:[–—,;±-]|&ndash;|\\pm|to|and|or)[\s$*`]*+[\[(]?|[\[(])[\s$*`]*+")
_MOST = 12  # figures; no value has as many, so a text with more quotes none
_LONGEST = 400  # digits of a figure that can be any value's
_NEAR = 60  # characters before a dash that say whether it ends a figure
_HIDDEN = re.compile(
    # A comment that does not end hides all that follows; the index of a symbol is a part of its name.
    r"<!--.*?(?:-->|\Z)|(?<=[^\W\d_])<su[bp]>[^<>]*</su[bp]>|</?[A-Za-z][^<>]*>|&#\w+;"
    r"|(?<=\])\((?=[^()\s]*[A-Za-z/#])[^()\s]*\)"
    r"|(?<=[^\W\d_])(?:_\d+(?![\w.])|[_^]\d(?![\w.])|[_^]\{[^{}]*\})|(?<=\})_(?:\d(?![\d.])|\{\w*\})",
    re.DOTALL,
)
_SHOWN = re.compile(r"</?sup>")
_ROUNDINGS = {
    "nearest": ROUND_HALF_EVEN, "down": ROUND_FLOOR, "up": ROUND_CEILING,
    "under": ROUND_FLOOR, "exact": ROUND_HALF_EVEN,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it stands in a text, from ``start`` to ``end``, its digits to ``stem``.

    ``place`` is the power of ten of its last digit. ``power`` is the power of ten written with it, which
    value and place contain; ``shared`` says that it stands after a bracket instead. ``unit`` is that of a
    unit such as % after it, which they do not contain; ``doubt`` is a word after it that may be a unit or
    not, and ``joined`` says that letters belong to it. ``sign`` is the one that stands there, and ``point``
    what its decimals come after.
    """

    value: Decimal
    place: int
    digits: str
    start: int
    stem: int
    end: int
    power: int = 0
    shared: bool = False
    unit: int = 0
    doubt: str = ""
    joined: bool = False
    sign: str = ""
    point: str = "."

    @property
    def plain(self) -> bool:
        """Whether it is written without a power of ten."""
        return self.stem == self.end and not self.shared

    @property
    def significant(self) -> int:
        """How many digits count: all but the zeros in front."""
        return len(re.sub(r"\D", "", self.digits).lstrip("0"))

    @property
    def separator(self) -> str:
        """What stands between its groups of three, or nothing."""
        found = re.search(r"(?<=\d)[^\d]+(?=\d)", self.digits)
        return found[0] if found and found[0] != self.point else ""

    @property
    def is_ambiguous(self) -> bool:
        """Whether its decimal comma may as well be one between groups of three."""
        whole, point, fraction = self.digits.partition(self.point)
        return bool(point) and self.point != "." and len(fraction) == 3 and 0 < len(whole.lstrip("0")) <= 3

    def agrees(self, exact: Decimal, rounding: Rounding) -> bool:
        """Whether a value in this number's unit, rounded that way to as many digits, is this number."""
        if rounding == "exact":
            return self.plain and not self.unit and self.digits == str(exact)
        if rounding == "nearest":
            return abs(self.value - exact) <= Decimal(1).scaleb(self.place) / 2
        return self.value == rounded(exact, self.place, rounding)


@lru_cache(maxsize=256)
def numbers_in(
    text: str, after: str = "", *, spaced: bool = False, comma: bool = False
) -> tuple[Number, ...]:
    """Return the numbers of a text: plain, in groups of three, with powers of ten of every usual spelling.

    A sign counts where no letter, digit or bracket is before it, nor a figure's marks, unit or no-break
    space: a range such as 1–2 or 99.1%–99.5% is two numbers without signs.
    A power of ten after a bracket is that of all numbers in it. Figures in HTML tags and in addresses do not
    count. ``after`` is what follows the text, maybe the last number's unit; ``spaced`` takes ordinary spaces
    between groups of three, ``comma`` reads a comma as that before decimals. Of very many numbers only the
    first are returned.
    """
    read = hidden(text)
    pattern = _COMMA if comma else _SPACED if spaced else _NUMBER
    return _with_units(read, after, list(islice(_each_number(read, pattern), _MOST)))


def is_in_doubt(text: str, after: str) -> bool:
    """Return whether a unit of the text's figures stands after it and may as well be none, as k may."""
    return any(number.unit and number.doubt for number in numbers_in(text, after))


def gets_unit(text: str, after: str) -> bool:
    """Return whether what follows a text is a unit of its figures, for certain."""
    pairs = zip(numbers_in(text), numbers_in(text, after), strict=True)
    return any(alone.unit != one.unit and not one.doubt for alone, one in pairs)


def has_decimal_comma(text: str) -> bool:
    """Return whether a comma between two digits of the text may be that before decimals."""
    return _DECIMAL_COMMA.search(text) is not None and re.search(r"\d\.\d", text) is None


def _each_number(read: str, pattern: re.Pattern[str]) -> Iterator[Number]:
    end = 0
    for shared in _SHARED.finditer(read):
        power = _exponent(shared)
        yield from (_number(match) for match in pattern.finditer(read, end, shared.start("inside")))
        yield from (_number(match, power) for match in pattern.finditer(read, *shared.span("inside")))
        end = shared.end()
    yield from (_number(match) for match in pattern.finditer(read, end))


def hidden(text: str) -> str:
    """Return the text with what readers do not see, tags and addresses, blanked out in its place."""
    return _HIDDEN.sub(lambda match: match[0] if _SHOWN.fullmatch(match[0]) else _blank(match[0]), text)


def rounded(value: Decimal, place: int, rounding: Rounding) -> Decimal:
    """Return a value rounded to the digit of this power of ten."""
    shifted = value.scaleb(-place)
    if shifted == shifted.to_integral_value():
        return value
    return shifted.quantize(Decimal(1), rounding=_ROUNDINGS[rounding]).scaleb(place)


def _blank(tag: str) -> str:
    # A tag stays one, for a unit may follow it; only its content goes.
    return re.sub(r"\w", "a", tag) if tag[0] == "<" else "\u00a0" * len(tag)


def _with_units(text: str, after: str, found: list[Number]) -> tuple[Number, ...]:
    done: list[Number] = []
    followed = text + after
    for number in reversed(found):
        unit = unit_after(followed, number.end, len(text))
        if not unit.power and done and _JOINT.fullmatch(text, number.end, done[-1].start):
            unit = unit._replace(power=done[-1].unit, doubt=done[-1].doubt)
        done.append(dataclasses.replace(number, unit=unit.power, doubt=unit.doubt, joined=unit.joined))
    return tuple(reversed(done))


def _exponent(match: re.Match[str]) -> int:
    raised = (match["raised"] or "").translate(LOWERED)
    return int((match["power"] or raised or match["sup"] or "0").replace("−", "-"))


def _number(match: re.Match[str], shared: int | None = None) -> Number:
    point = match["point"] or "."
    whole, _, decimals = match["digits"].partition(point)
    digits = re.sub(r"\D", "", whole) + ("." + decimals if decimals else "")
    own = int(match["e"].replace("−", "-")) if match["e"] else _exponent(match)
    power = own + (shared or 0)
    _, _, fraction = digits.partition(".")
    is_long = len(digits) > _LONGEST
    value = Decimal("Infinity") if is_long else Decimal(digits).scaleb(power)
    before = match.string[max(0, match.start() - _NEAR) : match.start()]
    closed = match["sign"] and _CLOSED.search(before)
    sign = "" if closed else match["sign"] or ""
    return Number(
        value=-value if sign.strip("+") else value,
        place=0 if is_long else power - len(fraction),
        digits=match["digits"],
        start=match.start() if sign else match.start("digits"),
        stem=match.end("digits"),
        end=match.end(),
        power=power,
        shared=shared is not None,
        sign=sign,
        point=point,
    )


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
