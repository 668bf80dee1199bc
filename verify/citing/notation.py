"""How the figures of a quotation belong together: each by itself, or as one figure with its uncertainty.

An uncertainty is written c ± h, c(h) with h in units of c's last digit, or c with +u and −d; each says how
far the ends of an interval are from the figure. What is joined in a way that is not known here means nothing,
and is never written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING

from verify.citing.figures import SHARED_POWER, Number, hidden, is_same_size, rounded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verify.citing.values import Value

_MARKS = r"(?:[\s*`$~{}\u00a0\u202f\u2009]|\\[,;!:]|&nbsp;|&thinsp;)*+"
_PLUS_MINUS = re.compile(rf"{_MARKS}(?:±|\\pm(?![A-Za-z])|\+/?[-−–]|&plusmn;|&pm;){_MARKS}")
_ABOVE = re.compile(r"\s*(?:\^\s*\{|<sup>|\(|)\s*")
_BELOW_AFTER = re.compile(r"\s*(?:\}\s*_\s*\{|</sup>\s*<sub>|,)?\s*|\s*/\s*[-−–]\s*")
_BELOW = re.compile(r"\s*(?:_\s*\{|<sub>)\s*")
_ABOVE_AFTER = re.compile(r"\s*(?:\}\s*\^\s*\{|</sub>\s*<sup>)\s*")
_IN_BRACKETS = re.compile(r"\d{1,3}")
_MINUS = frozenset(["-", "−", "–", "&minus;"])

_OPERATOR = re.compile(
    r"[=^/±+×÷√∙⋅·]|\\(?:pm|mp|times|cdot|d?frac|sqrt|div|over)(?![A-Za-z])|&(?:plusmn|pm|times|divide|middot);"
    r"|</?su[bp]>|_\{|\)\s*\("
)
_NAMED = re.compile(r"[^\W\d_]{2,}[\s*`$]*=")
_BEFORE = re.compile(
    r"(?:[\^/×÷√∙⋅·±]|(?<=[\w)\]])\s*\+\s*|\\(?:times|cdot|d?frac|sqrt|pm|mp|log|ln|exp|over)[\s{(]*"
    r"|&(?:plusmn|pm|times|divide|radic);|\b(?:minus|negative|root|log|ln|exp|over|twice|half|times|without)\b"
    r"(?:\s+of)?)[\s*`$({]*$",
    re.IGNORECASE,
)
_BOUND = re.compile(
    r"(?:[<>≤≥≲≳]|&[lg][te];|\\(?:le|ge|lt|gt|leq|geq)(?![A-Za-z])"
    r"|\b(?:most|least|than|under|below|above|up to)\b)"
    r"[\s*`$({]*$",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"[\s*`$})\]]*(?:[\^/×÷∙⋅·±²³!]|\\(?:times|cdot|pm|over)(?![A-Za-z])|&(?:plusmn|pm|times|divide);"
    r"|\+\s*\d|(?:squared|cubed|times\s+(?:as|the|that))\b)",
    re.IGNORECASE,
)
_TAG = re.compile(r"</?(?!su[bp]>)[A-Za-z][^<>]*>")
_OF = re.compile(r"\b(?:interval|range|ci|limits|bounds|ends)\s+of\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+")
_WORDS = (
    "a an and are around as at between bounds by ci confidence end ends estimate from has high higher highest"
    " in interval is its least level lies limit limits low lower lowest or range ranges ranging simultaneous"
    " simultaneously the through to until up upper whole whose with within"
    " percent per cent thousand million billion k m nbsp thinsp ndash amp left right text mathrm quad"
)
_JOINING = frozenset(_WORDS.split())
_SHARING = frozenset(["of", "out", "all", "the"])


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure with its uncertainty: ``below`` is None where one number stands for both directions.

    ``in_digits`` says that it is in units of the figure's last digit.
    """

    centre: Number
    above: Number
    below: Number | None = None
    in_digits: bool = False


Terms = tuple[Number | Spread, ...]
"""The figures of a text, each by itself or with its uncertainty."""


def joined(text: str, numbers: Sequence[Number]) -> Terms | None:
    """Return the numbers of a text as they belong together, None if they are joined in an unknown way."""
    terms = tuple(_terms(text, numbers))
    for left, right in pairwise(terms):
        between = text[_end(left) : _start(right)]
        bracketed = between == "(" and text.startswith(")", _end(right))
        if bracketed or _OPERATOR.search(_NAMED.sub(" ", between)):
            return None
    return terms


def is_understood(
    text: str,
    terms: Sequence[Number | Spread],
    *,
    spread: bool = False,
    bound: bool = False,
    share: bool = False,
) -> bool:
    """Return whether all that stands around and between the terms of a text leaves them what they are.

    Between them only words may stand that join an estimate and its interval. ``spread`` says that the value
    is one that ± may stand before, ``bound`` that it is one that < or > may, ``share`` that it is a count of
    a total.
    """
    if not terms:
        return True
    power = SHARED_POWER.match(text, _end(terms[-1])) if members(terms[-1])[-1].shared else None
    end = power.end() if power else _end(terms[-1])
    before, after = (_TAG.sub(" ", one) for one in (text[: _start(terms[0])], text[end:]))
    if spread:
        before = _PLUS_MINUS.sub(" ", before)
    if _BEFORE.search(before) or _AFTER.match(after) or (not bound and _BOUND.search(before)):
        return False
    between = (text[_end(left) : _start(right)] for left, right in pairwise(terms))
    shown = (_OF.sub(" ", hidden(_TAG.sub(" ", one))) for one in between)
    words = (word.lower() for one in shown for word in _WORD.findall(one))
    return (_SHARING if share else _JOINING).issuperset(words)


def _terms(text: str, numbers: Sequence[Number]) -> Iterator[Number | Spread]:
    place = 0
    while place < len(numbers):
        spread = _spread(text, numbers[place : place + 3])
        yield spread or numbers[place]
        place += 1 if spread is None else 2 if spread.below is None else 3


def _spread(text: str, numbers: Sequence[Number]) -> Spread | None:
    if len(numbers) < 2:
        return None
    centre, second = numbers[:2]
    between = text[centre.end : second.start]
    if _PLUS_MINUS.fullmatch(between) and not second.sign:
        return Spread(centre, second)
    if between == "(" and _is_in_digits(text, centre, second):
        return Spread(centre, second, in_digits=True)
    return _asymmetric(text, centre, second, numbers[2]) if len(numbers) > 2 else None


def _is_in_digits(text: str, centre: Number, second: Number) -> bool:
    return (
        text.startswith(")", second.end)
        and _IN_BRACKETS.fullmatch(second.digits) is not None
        and centre.plain
        and second.plain
    )


def _asymmetric(text: str, centre: Number, second: Number, third: Number) -> Spread | None:
    between, then = text[centre.end : second.start], text[second.end : third.start]
    if second.sign == "+" and _ABOVE.fullmatch(between) and _BELOW_AFTER.fullmatch(then):
        # After a solidus the sign is not the number's own.
        signed = third.sign in _MINUS or (not third.sign and "/" in then)
        return Spread(centre, second, third) if signed else None
    if second.sign in _MINUS and _BELOW.fullmatch(between) and _ABOVE_AFTER.fullmatch(then):
        return Spread(centre, third, second) if third.sign == "+" else None
    return None


def members(term: Number | Spread) -> tuple[Number, ...]:
    """Return the numbers of a term in the order in which they stand."""
    if not isinstance(term, Spread):
        return (term,)
    own = (term.centre, term.above, *((term.below,) if term.below else ()))
    return tuple(sorted(own, key=lambda number: number.start))


def _start(term: Number | Spread) -> int:
    return members(term)[0].start


def _end(term: Number | Spread) -> int:
    return members(term)[-1].end


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval with the estimate in it, None where only the interval is quoted; in a quotation's unit.

    ``places`` are the powers of ten of the last digits that are printed of it.
    """

    estimate: Decimal | None
    low: Decimal
    high: Decimal
    place: int

    @property
    def centre(self) -> Decimal:
        """The estimate, or else the middle."""
        return (self.low + self.high) / 2 if self.estimate is None else self.estimate

    def distances(self, centre: Decimal, place: int) -> tuple[Decimal, Decimal]:
        """Return how far the ends are above and below, rounded up to the digit of this power of ten."""
        return rounded(self.high - centre, place, "up"), rounded(centre - self.low, place, "up")


@dataclass(frozen=True, slots=True)
class Written:
    """The numbers of an interval with the powers of ten of their last digits."""

    centre: Decimal
    place: int
    above: Decimal
    below: Decimal
    spread_place: int


def interval_of(value: Value, printed: tuple[Number, ...], unit: int) -> Interval | None:
    """Return the interval that a value is, in the unit of this power of ten; None if it is none."""
    *first, low, high = value.figures if len(value.figures) in {2, 3} else (None, None)
    if low is None or high is None or (low.rounding, high.rounding) != ("down", "up"):
        return None
    shift = printed[-1].unit - unit
    estimate = first[0].exact.scaleb(shift) if first and first[0] else None
    return Interval(estimate, low.exact.scaleb(shift), high.exact.scaleb(shift), printed[-1].place + shift)


def says(spread: Spread, interval: Interval) -> bool:
    """Return whether a figure with its uncertainty is this interval, to the digits that stand there.

    The figure is the estimate to the nearest; the uncertainty covers the interval, and with one unit less in
    its last digit would not. One number for both directions is right where they differ by no more than that.
    """
    centre, place = spread.centre, _spread_place(spread)
    if _has_two_units(spread):
        return False
    if interval.estimate is not None and abs(centre.value - interval.estimate) > _unit(centre.place) / 2:
        return False
    above, below = interval.distances(centre.value, place)
    stands = _distance(spread, spread.above)
    if spread.below is not None:
        return (stands, _distance(spread, spread.below)) == (above, below) and min(above, below) >= 0
    return _is_even(above, below, place) and stands == max(above, below)


def rewritten(spread: Spread, interval: Interval) -> Written | None:
    """Return the numbers that make it this interval, with the digits that stand there where these will do.

    None if it cannot be written so: the ends are not equally far away, or the units are two.
    """
    if _has_two_units(spread):
        return None
    if spread.above.doubt and not is_same_size(spread.centre.value, interval.centre):
        return None
    own = max(min(spread.centre.place, _spread_place(spread)), interval.place)
    for place in dict.fromkeys((own, interval.place)):
        written = _written(spread, interval, place)
        if written is not None:
            return written
    return None


def _written(spread: Spread, interval: Interval, place: int) -> Written | None:
    centre = rounded(interval.centre, place, "nearest")
    spread_place = place if spread.in_digits else max(_spread_place(spread), interval.place)
    above, below = interval.distances(centre, spread_place)
    if min(above, below) <= 0:
        return None
    if spread.below is None:
        if not _is_even(above, below, spread_place):
            return None
        above = below = max(above, below)
    return Written(centre, place, above, below, spread_place)


def _spread_place(spread: Spread) -> int:
    return spread.centre.place if spread.in_digits else spread.above.place


def _distance(spread: Spread, number: Number) -> Decimal:
    size = abs(number.value)
    return size.scaleb(spread.centre.place) if spread.in_digits else size


def _is_even(above: Decimal, below: Decimal, place: int) -> bool:
    return min(above, below) > 0 and abs(above - below) <= _unit(place)


def _has_two_units(spread: Spread) -> bool:
    numbers = (spread.centre, spread.above, spread.below or spread.above)
    is_shared = {(one.unit, one.power, one.shared) for one in numbers}
    return len(is_shared) > 1 or any(one.joined for one in numbers)


def _unit(place: int) -> Decimal:
    return Decimal(1).scaleb(place)
