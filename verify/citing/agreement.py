"""Holds what a document quotes against the present value, to the digits that it quotes."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from itertools import product
from typing import TYPE_CHECKING

from verify.citing.figures import Number, gets_unit, has_decimal_comma, hidden, is_in_doubt, numbers_in
from verify.citing.notation import Spread, joined
from verify.citing.spreads import interval_of, says
from verify.citing.value import DATE, DIGEST
from verify.citing.words import counts_in, read_date

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verify.citing.notation import Terms
    from verify.citing.spreads import Interval
    from verify.citing.value import Figure, Value

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
