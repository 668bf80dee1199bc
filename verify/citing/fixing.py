"""Writes the present value into a quotation, in the notation that stands there, or not at all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verify.citing.agreement import (
    agrees,
    bare_words,
    candidates,
    figures_of,
    intervals,
    is_end,
    is_right,
    is_share,
    readings,
)
from verify.citing.figures import Number, has_decimal_comma, hidden, is_in_doubt, numbers_in, rounded
from verify.citing.notation import Spread, is_understood, members
from verify.citing.spreads import rewritten
from verify.citing.units import is_same_size
from verify.citing.value import DATE, DIGEST
from verify.citing.words import cased, counts_in, recounted, rewritten_date
from verify.text import numbers

if TYPE_CHECKING:
    from decimal import Decimal

    from verify.citing.notation import Terms
    from verify.citing.spreads import Interval, Written
    from verify.citing.value import Figure, Value

_BETWEEN = r"[\s`*$%‰\\]*"
_FITTING = range(-4, 6)  # powers of ten that people still write before a unit
_SIGN = re.compile("[-−–]|&minus;")
_SPREADS = (":halfwidth", ":error", ":relative-error")
"""How keys end whose figure ± may stand before."""


def fixed(quoted: str, value: Value, after: str = "") -> str | None:
    """Return the quotation with the present figures or word, all else as it is; None if it cannot be done.

    Figures keep their unit and at most their own digits, unless these would leave nothing of the value: then
    all digits of its text stand there. Only the author knows what to write where a unit is unknown or does
    not suit the value, and where there are more or fewer figures than the value has, or words besides;
    but where nothing but fewer figures stood, the value's text takes their place.
    """
    if agrees(quoted, value, after):
        return quoted
    if value.is_formatted:
        new: str | None = _dressed(quoted, value.text)
    elif not quoted.strip():
        new = value.text
    else:
        new = _with_figures(quoted, value, after) if value.figures else _reworded(quoted, value)
    if new is None or (value.figures and is_in_doubt(new, after)):
        return None
    return new if agrees(new, value, after) else None


def _with_figures(quoted: str, value: Value, after: str) -> str | None:
    for terms in readings(quoted, value, after):
        if not _may_be_written(quoted, terms, value):
            continue
        if any(isinstance(one, Spread) for one in terms):
            return next(filter(None, (_respread(quoted, *one) for one in intervals(terms, value))), None)
        new = _with_plain_figures(quoted, terms, value)
        unclear = any(one.is_ambiguous for one in numbers_in(new or "", comma=True))
        return None if unclear and has_decimal_comma(quoted) and not _has_groups(terms) else new
    counts = counts_in(quoted)
    if value.text.isdigit() and counts and not numbers_in(quoted):
        return recounted(quoted, int(value.figures[0].exact))
    found = numbers_in(quoted, after)
    bare = all(number.plain and not number.unit for number in found)
    bare = bare and not re.search(r"[^\W\d_]|[=^/+±×()]", quoted)
    return _dressed(quoted, value.text) if len(found) < len(value.figures) and bare else None


def _may_be_written(quoted: str, terms: Terms, value: Value) -> bool:
    spread = value.key.endswith(_SPREADS)
    bound = value.text.startswith((">", "<"))
    found = [number for one in terms for number in members(one)]
    if any(number.is_ambiguous for number in found) or counts_in(hidden(quoted)):
        return False
    if _has_groups(terms) and not any(abs(printed.value) >= 1000 for printed in numbers_in(value.text)):
        # The comma is rather that before decimals, of which only its author knows.
        return False
    share = len(terms) > len(value.figures)
    return is_understood(quoted, terms, spread=spread, bound=bound, share=share)


def _has_groups(terms: Terms) -> bool:
    return any(number.separator in {",", "{,}"} for one in terms for number in members(one))


def _with_plain_figures(quoted: str, terms: Terms, value: Value) -> str | None:
    found = [number for one in terms for number in members(one)]
    figures, printed = figures_of(terms, value), numbers_in(value.text)
    if len(figures) > len(printed):
        if not is_share(quoted, found):
            return None
        printed = (*printed, *printed)
    text, end = "", 0
    for old, now, figure in zip(found, printed, figures, strict=True):
        new = _renumbered(quoted, old, now, figure, value.text)
        if new is None:
            return None
        # A dash between figures may be a range's, not a sign that could go.
        loses_dash = old.sign not in {"", "+"} and not _starts_signed(new, 0)
        if loses_dash and end and re.fullmatch(_BETWEEN, quoted[end : old.start]):
            return None
        text += quoted[end : old.start] + new
        end = old.end
    text += quoted[end:]
    # A figure alone takes the signs of the value's text as well, such as > before a power.
    alone = not old.unit and old.sign != "+" and bare_words(quoted) == quoted[old.start : old.end]
    whole = alone and text[old.start :].startswith(value.text[now.start : now.end])
    return quoted[: old.start] + value.text + quoted[old.end :] if whole else text


def _respread(quoted: str, spread: Spread, interval: Interval) -> str | None:
    """Return a quotation with a figure and its uncertainty as they are now."""
    written = rewritten(spread, interval)
    if written is None:
        return None
    text, end = "", 0
    for number in members(spread):
        text += quoted[end : number.start] + _in_spread(quoted, number, spread, written)
        end = number.end
    return text + quoted[end:]


def _in_spread(quoted: str, number: Number, spread: Spread, written: Written) -> str:
    if number is spread.centre:
        return _signed(quoted, number, written.centre, written.place, "")
    size = written.above if number is spread.above else written.below
    if spread.in_digits:
        return f"{size.scaleb(-written.place):f}"
    digits = _grouped(size.scaleb(-number.power), max(0, number.power - written.spread_place), number, "")
    return number.sign + digits + quoted[number.stem : number.end]


def _renumbered(quoted: str, old: Number, now: Number, figure: Figure, canonical: str) -> str | None:
    """Return one figure of a quotation: as it is if it is right, else a new one in its own notation.

    None where a unit after it is unknown, or no longer that of such a value.
    """
    if is_right(old, now, figure):
        return quoted[old.start : old.end]
    exact = min(candidates(old, now, figure), key=lambda one: abs(one - old.value))
    is_unclear = old.joined or (old.doubt and not is_same_size(old.value, exact))
    if is_unclear or (figure.rounding == "exact" and old.sign):
        return None
    shift = now.unit - old.unit if exact != figure.exact else 0
    mantissa = exact.adjusted() - old.power
    far = not old.plain and not old.shared and not old.unit and (mantissa not in {0, 1} or not exact)
    # A value whose own text is 0.0 is written with its power of ten, so that the 0 says how small it is.
    vanishing = figure.exact and not now.value and old.plain and not old.unit and not is_end(figure)
    if figure.rounding == "exact" or ((far or vanishing) and not now.shared):
        return canonical[now.start : now.end]
    place = max(old.place, now.place + shift)
    new = rounded(exact, place, figure.rounding)
    if old.unit and exact and exact.adjusted() not in _FITTING:
        return None
    if _is_too_coarse(new, place, old, now, figure):
        if old.unit > 0:
            return None
        place = now.place + shift
        new = rounded(exact, place, figure.rounding)
    return _signed(quoted, old, new, place, canonical)


def _signed(quoted: str, old: Number, new: Decimal, place: int, canonical: str) -> str:
    """Return a number to the digit of this power of ten in the old one's notation, its sign included."""
    written = _grouped(new.scaleb(-old.power), max(0, old.power - place), old, canonical)
    plus = "+" if old.sign == "+" and new > 0 else ""
    minus = (numbers.MINUS if old.sign in {"", "+"} else old.sign) if new < 0 else plus
    return minus + written + quoted[old.stem : old.end]


def _starts_signed(text: str, place: int) -> bool:
    return _SIGN.match(text, place) is not None


def _is_too_coarse(new: Decimal, place: int, old: Number, now: Number, figure: Figure) -> bool:
    """Whether a figure lost what it says: cut to 0, or with fewer digits by rounding off, as 1 to 0.9."""
    if not new:
        return bool(now.value)
    left = new.adjusted() - place + 1
    return figure.rounding != "nearest" and left < min(old.significant, now.significant)


def _grouped(value: Decimal, decimals: int, like: Number, canonical: str) -> str:
    """Return a value without its sign, its groups of three as in the old number or else as in our texts."""
    separator = like.separator
    whole, point, fraction = f"{abs(value):,.{decimals}f}".partition(".")
    if not separator and abs(value) >= 10_000 and len(like.digits.partition(".")[0]) < 5:
        separator = numbers.GAP if numbers.GAP in canonical else ""
    return whole.replace(",", separator) + (like.point if point else "") + fraction


def _reworded(quoted: str, value: Value) -> str | None:
    if not value.kind:
        return None
    seen = re.sub(r"<[^<>]*>", lambda tag: " " * len(tag[0]), hidden(quoted))
    words = list(re.finditer(rf"(?<![^\W_])(?:{value.kind})(?![^\W_])", seen, re.IGNORECASE))
    if len(words) != 1:
        return None
    start, end = words[0].span()
    old = quoted[start:end]
    return quoted[:start] + _as_written(old, value) + quoted[end:]


def _as_written(old: str, value: Value) -> str:
    """Return the value's word in the form of the old one: its case, its length, its way of giving a date."""
    if value.kind == DIGEST:
        return value.text[: len(old)]
    return rewritten_date(old, value.text) if value.kind == DATE else cased(old, value.text)


def _dressed(quoted: str, text: str) -> str:
    """Return the text between the marks that stood around the quotation, such as a code span's."""
    marks = re.match(r"\s*([`*_]*)", quoted)
    around = marks[1] if marks and quoted.rstrip().endswith(marks[1]) else ""
    return f"{around}{text}{around}"
