"""Holds what a document quotes against the present value, to the digits that it quotes, and updates it."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from itertools import product
from typing import TYPE_CHECKING

from verify.citing.figures import (
    Number,
    cased,
    counts_in,
    gets_unit,
    has_decimal_comma,
    hidden,
    is_in_doubt,
    is_same_size,
    numbers_in,
    read_date,
    recounted,
    rewritten_date,
    rounded,
)
from verify.citing.notation import Spread, interval_of, is_understood, joined, members, rewritten, says
from verify.citing.values import DATE, DIGEST
from verify.text import numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verify.citing.notation import Interval, Terms, Written
    from verify.citing.values import Figure, Value

_MARKS = r"[`*_$]"
_OF = re.compile(r"[\s*`$~]*(?:out\s+of|of|/)(?:\s+(?:all|the))?[\s*`$~]*", re.IGNORECASE)
_PARTED = 1000  # numbers from here on may have spaces in them
# Signs around a word that say nothing else: ticks and other symbols, brackets, quotation marks.
_AROUND = frozenset(["So", "Mn", "Zs", "Ps", "Pe", "Pi", "Pf"])


def agrees(quoted: str, value: Value, after: str = "") -> bool:
    """Return whether a quotation says what the value is now.

    Of a value with figures, only these count, in their order, each to the digits that are quoted and in the
    unit after it, such as %; of one in words, all words, whatever their case. ``after`` is what follows the
    quotation in its document.
    """
    if value.is_free and not (value.figures and numbers_in(quoted)):
        return bool(quoted.strip())
    if value.is_formatted:
        return _in_one_form(quoted) == _in_one_form(value.text) and not gets_unit(value.text, after)
    if not value.figures:
        return _says_word(quoted, value)
    if _says_count(quoted, value):
        return True
    return any(_says(quoted, terms, value) for terms in readings(quoted, value, after))


def readings(quoted: str, value: Value, after: str) -> Iterator[Terms]:
    """Yield the figures of a quotation in the ways in which they can be read as the value's."""
    ways = [{"spaced": False}]
    # A typesetter parts no four digits, other writers do.
    figures = value.figures if value.total is None else (*value.figures, value.total)
    if any(abs(one.exact) >= _PARTED for one in figures):
        ways.append({"spaced": True})
    if has_decimal_comma(quoted):
        ways.append({"comma": True})
    # What may be a unit or not is read as either.
    follows = (after, "") if is_in_doubt(quoted, after) else (after,)
    for followed, way in product(follows, ways):
        terms = joined(quoted, numbers_in(quoted, followed, **way))
        if terms is not None and _fits(terms, value):
            yield terms


def _fits(terms: Terms, value: Value) -> bool:
    """Return whether a quotation has as many figures as the value, or says an interval in another way."""
    if any(isinstance(one, Spread) for one in terms):
        return len(terms) == 1
    return len(terms) == len(figures_of(terms, value))


def figures_of(terms: Terms, value: Value) -> tuple[Figure, ...]:
    """Return the figures that the terms are to be: of a count, it may be said of how many."""
    is_share = value.total is not None and len(terms) == 2 and len(value.figures) == 1
    return (*value.figures, value.total) if is_share and value.total else value.figures


def _says(quoted: str, terms: Terms, value: Value) -> bool:
    printed = numbers_in(value.text)
    plain = [one for one in terms if isinstance(one, Number)]
    if len(plain) < len(terms):
        return any(says(spread, interval) for spread, interval in intervals(terms, value))
    figures = figures_of(terms, value)
    if len(figures) > len(value.figures):
        return is_share(quoted, plain) and all(map(is_right, plain, (*printed, *printed), figures))
    return all(map(is_right, plain, printed, figures))


def is_share(quoted: str, both: list[Number]) -> bool:
    """Return whether two numbers of a quotation are a count and that of which it is a part."""
    return _OF.fullmatch(quoted, both[0].end, both[1].start) is not None


def intervals(terms: Terms, value: Value) -> Iterator[tuple[Spread, Interval]]:
    """Yield a spread with the interval that it may be, in its unit, which may stand elsewhere."""
    printed = numbers_in(value.text)
    for spread in terms:
        if isinstance(spread, Spread):
            unit = spread.centre.unit
            for one in dict.fromkeys((unit,) if unit else (unit, printed[-1].unit)):
                interval = interval_of(value, printed, one)
                if interval is not None:
                    yield spread, interval


def _in_one_form(text: str) -> str:
    """Return a text without marks of emphasis, its minus signs and spaces all of one kind."""
    plain = re.sub(r"&nbsp;|[\s~\u00a0\u202f\u2009]+", " ", re.sub(_MARKS, "", text))
    return re.sub(r"&minus;|[−–]", "-", plain).strip()


def _says_count(quoted: str, value: Value) -> bool:
    """Return whether a count is written in words."""
    if len(value.figures) != 1 or numbers_in(quoted):
        return False
    counts = counts_in(quoted)
    return len(counts) == 1 and counts[0][0] == value.figures[0].exact and value.text.isdigit()


def _says_word(quoted: str, value: Value) -> bool:
    bare = bare_words(quoted)
    if bare_words(value.text) in {bare, _alone(bare)}:
        return True
    shown = re.sub(_MARKS, "", hidden(quoted)).strip(" .,;:()[]…")
    if value.kind == DIGEST:
        return re.fullmatch(DIGEST, shown) is not None and value.text.startswith(shown)
    day = read_date(shown) if value.kind == DATE else None
    return day is not None and day.isoformat() == value.text


def candidates(number: Number, printed: Number, figure: Figure) -> tuple[Decimal, ...]:
    """Return what a figure is in the unit of a quoted number; without one, its unit may stand elsewhere."""
    same = figure.exact.scaleb(printed.unit - number.unit)
    return (same,) if number.unit else (same, figure.exact)


def is_right(number: Number, printed: Number, figure: Figure) -> bool:
    """Return whether a number of a quotation is the figure, to its digits and in its unit."""
    return any(
        number.agrees(one, figure.rounding) and _says_enough(number, one, printed, figure)
        for one in candidates(number, printed, figure)
    )


def is_end(figure: Figure) -> bool:
    """Whether it is an interval's end, rounded outwards."""
    return figure.rounding in {"down", "up"}


def _says_enough(number: Number, exact: Decimal, printed: Number, figure: Figure) -> bool:
    """Whether a number that agrees with a value has a digit of it.

    0 says nothing of a small value, nor does a billion; but an interval's end may lie at 0, further out, and
    where the value's own text is 0.0, for want of digits that mean anything, the quotation may be so as well.
    """
    if not exact:
        return True
    if is_end(figure):
        return number.unit <= 0 or abs(exact) >= Decimal(1).scaleb(number.place - 1)
    return bool(number.value) or (not printed.value and number.place <= printed.place)


def bare_words(text: str) -> str:
    """Return the words alone: no tags, no marks of emphasis, code or mathematics, no case or hyphens."""
    shown = re.sub(r"</?\w[^<>]*>", "", hidden(text))
    return " ".join(re.sub(_MARKS, "", shown).replace("-", " ").lower().split())


def _alone(bare: str) -> str:
    """Return bare words without the signs around them."""
    signs = "".join({sign for sign in bare if unicodedata.category(sign) in _AROUND} | set("\"'.,:;"))
    return bare.strip(signs)


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
