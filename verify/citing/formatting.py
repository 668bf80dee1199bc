"""Values in the form that a document asks for: ``KEY|digits=3``, ``KEY|percent``, ``KEY|plusminus``."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from verify.citing.figures import numbers_in, rounded
from verify.errors import CitationError
from verify.text import numbers

if TYPE_CHECKING:
    from decimal import Decimal

    from verify.citing.figures import Number
    from verify.citing.value import Figure, Value

_PREFIXES = {12: "T", 9: "G", 6: "M", 3: "k", 0: "", -3: "m", -6: "µ", -9: "n", -12: "p"}
_PERCENT = -2
_OPTION = re.compile(r"(?P<name>digits|places)=(?P<number>\d{1,2})|(?P<flag>percent|si|plusminus|link)")
_USAGE = "write digits=N, places=N, percent, si, plusminus or link, with commas between them"


@dataclass(frozen=True, slots=True)
class Form:
    """How a value is to be printed.

    ``digits`` are significant digits of its first figure, ``places`` decimals of all. ``percent`` and ``si``
    choose the unit, a hundredth or that of an SI prefix. ``plusminus`` writes an interval as c ± h. ``link``
    says that a text of one's own stands in the value's place, of which only figures are held against it.
    """

    digits: int | None = None
    places: int | None = None
    percent: bool = False
    si: bool = False
    plusminus: bool = False
    link: bool = False


def form_of(options: str) -> Form:
    """Return the form that these options, with commas between them, ask for.

    Raises:
        CitationError: one of them is unknown, or two exclude each other.
    """
    chosen: dict[str, int | bool] = {}
    for option in options.split(","):
        match = _OPTION.fullmatch(option.strip())
        if match is None:
            raise CitationError(f"no format {option.strip()[:40]!r}; {_USAGE}")
        chosen[match["flag"] or match["name"]] = int(match["number"]) if match["number"] else True
    for one, other in (("digits", "places"), ("percent", "si")):
        if one in chosen and other in chosen:
            raise CitationError(f"formats {one} and {other} exclude each other; give one of them")
    if chosen.get("digits") == 0:
        raise CitationError("format digits=0 leaves nothing of a value; give at least 1")
    return Form(**chosen)  # type: ignore[arg-type]


def formatted(value: Value, options: str) -> Value:
    """Return a value as its document asks for it.

    Raises:
        CitationError: there is no such format, the value has no figures or no interval for it, or it would
            print digits that the value's standard error does not support, or none that say anything.
    """
    form = form_of(options)
    key = f"{value.key}|{options}"
    if form == Form(link=True):
        return replace(value, key=key, is_free=True)
    if not value.figures or any(figure.rounding == "exact" for figure in value.figures):
        raise CitationError(f"{value.key} is no measured number; leave out its format {options!r}")
    if not _is_plain(value):
        raise CitationError(f"{_said(value)}, which has no other form; leave out {options!r}")
    text = _text(value, form)
    return replace(value, key=key, text=text, is_formatted=not form.link, is_free=form.link)


def _is_plain(value: Value) -> bool:
    """Whether it is a number, an interval or both, and no bound."""
    roundings = tuple(figure.rounding for figure in value.figures)
    return roundings in {("nearest",), ("up",), ("down", "up"), ("nearest", "down", "up")}


def _text(value: Value, form: Form) -> str:
    own = numbers_in(value.text)
    exact = [figure.exact.scaleb(number.unit) for figure, number in zip(value.figures, own, strict=True)]
    shift, unit = _unit(exact[0], own[0], form)
    figures = [
        replace(figure, exact=one.scaleb(-shift)) for figure, one in zip(value.figures, exact, strict=True)
    ]
    place = _place(own[0], figures[0].exact, form, shift)
    _require_digits(value, figures, own, place, shift)
    ends = [figure for figure in figures if figure.rounding in {"down", "up"}]
    if form.plusminus:
        if len(ends) != 2:
            raise CitationError(f"{value.key} has no interval; leave out plusminus, or quote the key alone")
        return _with_half_width(figures, place, unit)
    texts = [_rounded(figure, place) for figure in figures]
    if len(ends) == 2:
        both = f"[{texts[-2]},{numbers.NO_BREAK}{texts[-1]}]"
        texts = [*texts[:-2], both]
    return " ".join(texts) + unit


def _require_digits(
    value: Value, figures: list[Figure], own: tuple[Number, ...], place: int, shift: int
) -> None:
    """Raise a CitationError where a form has more digits than the value's own text, or none of it.

    The own text has the digits that the standard error supports; what it says exactly has any number.
    """
    finest = min(number.place + number.unit for number in own) - shift
    is_exact = all(
        number.value.scaleb(number.unit - shift) == figure.exact
        for number, figure in zip(own, figures, strict=True)
    )
    if place < finest and not is_exact:
        raise CitationError(f"{_said(value)} and has no more digits that mean something; ask for fewer")
    first = figures[0]
    is_lost = first.exact and not rounded(first.exact, place, first.rounding)
    if is_lost and first.rounding != "down" and (own[0].value or place > finest):
        raise CitationError(f"{_said(value)}, of which this leaves 0; ask for more digits")


def _said(value: Value) -> str:
    return f"{value.key} is {' '.join(value.text.split())}"


def _unit(first: Decimal, own: Number, form: Form) -> tuple[int, str]:
    """Return the power of ten of the unit and its sign, by default those of the value's own text."""
    if form.percent or (own.unit == _PERCENT and not form.si):
        return _PERCENT, "%"
    if not form.si or not first:
        return 0, ""
    power = min(max(3 * (first.adjusted() // 3), -12), 12)
    return power, f"{numbers.NO_BREAK}{_PREFIXES[power]}" if power else ""


def _place(own: Number, first: Decimal, form: Form, shift: int) -> int:
    """Return the power of ten of the last digit, by default that of the value's own text."""
    if form.places is not None:
        return -form.places
    if form.digits is not None:
        return first.adjusted() - form.digits + 1
    return own.place + own.unit - shift


def _rounded(figure: Figure, place: int) -> str:
    return _written(rounded(figure.exact, place, figure.rounding), place)


def _written(number: Decimal, place: int) -> str:
    text = f"{abs(number):,.{max(0, -place)}f}"
    whole, point, fraction = text.partition(".")
    grouped = whole.replace(",", numbers.GAP if len(whole) > 5 else "")
    return (numbers.MINUS if number < 0 else "") + grouped + point + fraction


def _with_half_width(figures: list[Figure], place: int, unit: str) -> str:
    low, high = (figure.exact for figure in figures[-2:])
    centre = rounded(figures[0].exact if len(figures) > 2 else (low + high) / 2, place, "nearest")
    half = rounded(max(high - centre, centre - low), place, "up")
    gap = numbers.NO_BREAK
    text = f"{_written(centre, place)}{gap}±{gap}{_written(half, place)}"
    return f"({text}){unit}" if unit else text
