"""Reads the figures of a text, in every usual spelling: groups of three, powers of ten, units after them.

Possessive quantifiers (``*+``) keep the time in proportion to the text's length.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from verify.citing.units import unit_after
from verify.text.escapes import LOWERED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verify.citing.value import Rounding

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
_NEAR = 60  # so many characters before a dash say whether it ends a figure
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
