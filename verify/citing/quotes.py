"""Holds what a document quotes against the present value, to the digits that it quotes; fixes it."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from typing import TYPE_CHECKING

from verify.citing.figures import Number, hidden, numbers_in, rounded
from verify.report import numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verify.citing.value import Figure, Value

_MARKS = r"[`*_$]"
_BETWEEN = r"[\s`*$%‰\\]*"
_FITTING = range(-4, 6)  # powers of ten that people still write before a unit
_SIGN = re.compile("[-−–]|&minus;")
# Signs around a word that say nothing else: ticks and other symbols, brackets, quotation marks.
_AROUND = frozenset(["So", "Mn", "Zs", "Ps", "Pe", "Pi", "Pf"])


def agrees(quoted: str, value: Value, after: str = "") -> bool:
    """Return whether a quotation says what the value is now.

    Of a value with figures, only these count, in their order, each to the digits that are quoted and in the
    unit after it, such as %; of one in words, all words, whatever their case. ``after`` is what follows the
    quotation in its document.
    """
    if not value.figures:
        bare = _bare(quoted)
        return _bare(value.text) in {bare, _alone(bare)}
    printed = numbers_in(value.text)
    return any(all(map(_right, found, printed, value.figures)) for found in _readings(quoted, value, after))


def fixed(quoted: str, value: Value, after: str = "") -> str | None:
    """Return the quotation with the present figures or word, all else as it is; None if it cannot be done.

    Figures keep their unit and at most their own digits, unless these would leave nothing of the value: then
    all digits of its text stand there. Only the author knows what to write where a unit is unknown or does
    not suit the value, and where there are more or fewer figures than the value has, or words besides;
    but where nothing but fewer figures stood, the value's text takes their place.
    """
    if agrees(quoted, value, after):
        return quoted
    if not quoted.strip():
        new: str | None = value.text
    else:
        new = _with_figures(quoted, value, after) if value.figures else _reworded(quoted, value)
    return new if new is not None and agrees(new, value, after) else None


def _readings(quoted: str, value: Value, after: str) -> Iterator[tuple[Number, ...]]:
    """Yield the figures of a quotation as they can be read, where they are as many as the value's."""
    for spaced in (False, True) if numbers.GAP in value.text else (False,):
        found = numbers_in(quoted, after, spaced=spaced)
        if len(found) == len(value.figures):
            yield found


def _candidates(number: Number, printed: Number, figure: Figure) -> tuple[Decimal, ...]:
    """Return what a figure is in the unit of a quoted number; without one, its unit may stand elsewhere."""
    same = figure.exact.scaleb(printed.unit - number.unit)
    return (same,) if number.unit else (same, figure.exact)


def _right(number: Number, printed: Number, figure: Figure) -> bool:
    return any(
        number.agrees(one, figure.rounding) and _says_enough(number, one, printed, figure)
        for one in _candidates(number, printed, figure)
    )


def _is_end(figure: Figure) -> bool:
    """Whether it is an interval's end, rounded outwards."""
    return figure.rounding in {"down", "up"}


def _says_enough(number: Number, exact: Decimal, printed: Number, figure: Figure) -> bool:
    """Whether a number that agrees with a value has a digit of it.

    0 says nothing of a small value, nor does a billion; but an interval's end may lie at 0, further out, and
    where the value's own text is 0.0, for want of digits that mean anything, the quotation may be so as well.
    """
    if not exact:
        return True
    if _is_end(figure):
        return number.unit <= 0 or abs(exact) >= Decimal(1).scaleb(number.place - 1)
    return bool(number.value) or (not printed.value and number.place <= printed.place)


def _with_figures(quoted: str, value: Value, after: str) -> str | None:
    printed = numbers_in(value.text)
    for found in _readings(quoted, value, after):
        text, end = "", 0
        for old, now, figure in zip(found, printed, value.figures, strict=True):
            new = _renumbered(quoted, old, now, figure, value.text)
            if new is None:
                return None
            # A dash between figures may be a range's, not a sign that could go.
            loses_dash = _starts_signed(quoted, old.start) and not _starts_signed(new, 0)
            if loses_dash and end and re.fullmatch(_BETWEEN, quoted[end : old.start]):
                return None
            text += quoted[end : old.start] + new
            end = old.end
        text += quoted[end:]
        # A figure alone takes the signs of the value's text as well, such as > before a power.
        alone = not old.unit and _bare(quoted) == quoted[old.start : old.end]
        whole = alone and text[old.start :].startswith(value.text[now.start : now.end])
        return quoted[: old.start] + value.text + quoted[old.end :] if whole else text
    found = numbers_in(quoted, after)
    bare = all(number.plain and not number.unit for number in found)
    fewer = len(found) < len(value.figures) and bare and not re.search(r"[^\W\d_]", quoted)
    return _dressed(quoted, value.text) if fewer else None


def _renumbered(quoted: str, old: Number, now: Number, figure: Figure, canonical: str) -> str | None:
    """Return one figure of a quotation: as it is if it is right, else a new one in its own notation.

    None where a unit after it is unknown, or no longer that of such a value.
    """
    if _right(old, now, figure):
        return quoted[old.start : old.end]
    if old.foreign:
        return None
    exact = min(_candidates(old, now, figure), key=lambda one: abs(one - old.value))
    shift = now.unit - old.unit if exact != figure.exact else 0
    mantissa = exact.adjusted() - old.power
    far = not old.plain and not old.shared and not old.unit and (mantissa not in {0, 1} or not exact)
    # A value whose own text is 0.0 is written with its power of ten, so that the 0 says how small it is.
    vanishing = figure.exact and not now.value and old.plain and not old.unit and not _is_end(figure)
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
    written = _grouped(new.scaleb(-old.power), max(0, old.power - place), old, canonical)
    sign = _SIGN.match(quoted, old.start)
    minus = (sign[0] if sign else numbers.MINUS) if new < 0 else ""
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
    return whole.replace(",", separator) + point + fraction


def _reworded(quoted: str, value: Value) -> str | None:
    if not value.kind:
        return None
    seen = re.sub(r"<[^<>]*>", lambda tag: " " * len(tag[0]), hidden(quoted))
    words = list(re.finditer(rf"(?<![^\W_])(?:{value.kind})(?![^\W_])", seen, re.IGNORECASE))
    if len(words) != 1:
        return None
    start, end = words[0].span()
    return quoted[:start] + _cased(quoted[start:end], value.text) + quoted[end:]


def _cased(old: str, new: str) -> str:
    if old.isupper():
        return new.upper()
    return new[:1].upper() + new[1:] if old[:1].isupper() else new


def _dressed(quoted: str, text: str) -> str:
    """Return the text between the marks that stood around the quotation, such as a code span's."""
    marks = re.match(r"\s*([`*_]*)", quoted)
    around = marks[1] if marks and quoted.rstrip().endswith(marks[1]) else ""
    return f"{around}{text}{around}"


def _bare(text: str) -> str:
    """Return the words alone: no tags, no marks of emphasis, code or mathematics, no case or hyphens."""
    shown = re.sub(r"</?\w[^<>]*>", "", hidden(text))
    return " ".join(re.sub(_MARKS, "", shown).replace("-", " ").lower().split())


def _alone(bare: str) -> str:
    """Return bare words without the signs around them."""
    signs = "".join({sign for sign in bare if unicodedata.category(sign) in _AROUND} | set("\"'.,:;"))
    return bare.strip(signs)
