"""Values by their keys: looked up, in the form that a document asks for, and as numbers for Python.

A key may ask for a form: ``KEY|digits=3``, ``KEY|percent``, ``KEY|plusminus``.
"""

from __future__ import annotations

import difflib
import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from verify.citing.figures import numbers_in, rounded
from verify.citing.values import values_of
from verify.errors import CitationError, ResultsError
from verify.evidence import RunRecord
from verify.evidence.audits import AuditRecord
from verify.evidence.load import load_either
from verify.text import numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from decimal import Decimal

    from verify.citing.figures import Number
    from verify.citing.values import Evidence, Figure, Value


def lookup(record: Evidence, key: str) -> Value:
    """Return what ``key`` stands for in a run or an audit.

    Raises:
        CitationError: there is no such key; the nearest one is suggested.
    """
    return lookup_in(by_key(record, _head(key)) or by_key(record), key)


def lookup_in(known: Mapping[str, Value], key: str, *, suggest: bool = True) -> Value:
    """Return what ``key`` stands for among the values known; see `by_key`.

    Raises:
        CitationError: there is no such key; the nearest one is suggested, unless ``suggest`` is False. Or no
            such form, which a key may ask for as in ``KEY|digits=3``.
    """
    if key in known:
        return known[key]
    whole, bar, options = key.partition("|")
    if bar:
        return formatted(lookup_in(known, whole.strip(), suggest=suggest), options)
    near = _nearest(key, known) if suggest else ""
    hint = f"did you mean {near!r}?" if near else "`sdpa-verify values` lists them all"
    raise CitationError(f"no value {shortened(key)!r} in these results; {hint}")


def _nearest(key: str, known: Iterable[str]) -> str:
    """Return the key that may have been meant, of the head that may have been, or nothing.

    Where a key lacks nothing but its head, as a statement's id alone does, it is the one.
    """
    headless = [one for one in known if one.partition(".")[2] == key]
    if len(headless) == 1:
        return headless[0]
    by_head: dict[str, list[str]] = {}
    for one in known:
        by_head.setdefault(_head(one), []).append(one)
    heads = difflib.get_close_matches(_head(key), by_head, n=1, cutoff=0.5)
    near = difflib.get_close_matches(key, by_head[heads[0]], n=1, cutoff=0.5) if heads else []
    return near[0] if near else ""


def shortened(text: str) -> str:
    """Return a text in one line of at most 60 characters."""
    shown = " ".join(text[:1000].split())
    return shown if len(shown) <= 60 else shown[:59] + "…"


def by_key(record: Evidence, head: str | None = None) -> dict[str, Value]:
    """Return the values of a run or an audit by their keys, or those of ``head`` alone."""
    return {value.key: value for value in values_of(record, head)}


def chosen(record: Evidence, names: Sequence[str]) -> list[Value]:
    """Return the values that ids or keys name: all of a claim or a layer, or a key's own and its parts'.

    No names stand for all values; none comes twice.

    Raises:
        CitationError: a name stands for nothing.
    """
    found = {} if names else by_key(record)
    for name in names:
        known = by_key(record, _head(name))
        whole = name == _head(name)
        matching = {
            key: value for key, value in known.items() if whole or key == name or key.startswith(f"{name}:")
        }
        found |= matching or {name: lookup(record, name)}
    return list(found.values())


def _head(key: str) -> str:
    return key.partition(":")[0].partition(".")[0]


_PREFIXES = {12: "T", 9: "G", 6: "M", 3: "k", 0: "", -3: "m", -6: "µ", -9: "n", -12: "p"}
_PERCENT = -2
_OPTION = re.compile(r"(?P<name>digits|places)=(?P<number>\d{1,2})|(?P<flag>percent|si|plusminus|link)")
_FORMATTED = {("nearest",), ("up",), ("down", "up"), ("nearest", "down", "up")}
"""How the figures are rounded of what has other forms: a number, an interval or both, and no bound."""
_USAGE = "write digits=N, places=N, percent, si, plusminus or link, with commas between them"


def _options_of(options: str) -> dict[str, int]:
    """Return the options of a form, those without a number with 1.

    Raises:
        CitationError: one of them is unknown, or two exclude each other.
    """
    chosen: dict[str, int] = {}
    for option in options.split(","):
        match = _OPTION.fullmatch(option.strip())
        if match is None:
            raise CitationError(f"no format {option.strip()[:40]!r}; {_USAGE}")
        chosen[match["flag"] or match["name"]] = int(match["number"] or 1)
    for one, other in (("digits", "places"), ("percent", "si")):
        if one in chosen and other in chosen:
            raise CitationError(f"formats {one} and {other} exclude each other; give one of them")
    if chosen.get("digits") == 0:
        raise CitationError("format digits=0 leaves nothing of a value; give at least 1")
    return chosen


def formatted(value: Value, options: str) -> Value:
    """Return a value as its document asks for it, by options with commas between them.

    ``digits`` are significant digits of its first figure, ``places`` decimals of all. ``percent`` and ``si``
    choose the unit, a hundredth or that of an SI prefix. ``plusminus`` writes an interval as c ± h. ``link``
    says that a text of one's own stands in the value's place, of which only figures are held against it.

    Raises:
        CitationError: there is no such format, the value has no figures or no interval for it, or it would
            print digits that the value's standard error does not support, or none that say anything.
    """
    form = _options_of(options)
    key = f"{value.key}|{options}"
    if form.keys() == {"link"}:
        return replace(value, key=key, is_free=True)
    roundings = tuple(figure.rounding for figure in value.figures)
    if not roundings or "exact" in roundings:
        raise CitationError(f"{value.key} is no measured number; leave out its format {options!r}")
    if roundings not in _FORMATTED:
        raise CitationError(f"{_said(value)}, which has no other form; leave out {options!r}")
    is_free = "link" in form
    return replace(value, key=key, text=_text(value, form), is_formatted=not is_free, is_free=is_free)


def _text(value: Value, form: dict[str, int]) -> str:
    own = numbers_in(value.text)
    exact = [figure.exact.scaleb(number.unit) for figure, number in zip(value.figures, own, strict=True)]
    shift, unit = _unit(exact[0], own[0], form)
    figures = [
        replace(figure, exact=one.scaleb(-shift)) for figure, one in zip(value.figures, exact, strict=True)
    ]
    place = own[0].place + own[0].unit - shift
    if "places" in form:
        place = -form["places"]
    elif "digits" in form:
        place = figures[0].exact.adjusted() - form["digits"] + 1
    _require_digits(value, figures, own, place, shift)
    is_interval = figures[-1].rounding == "up" and len(figures) > 1
    if "plusminus" in form:
        if not is_interval:
            raise CitationError(f"{value.key} has no interval; leave out plusminus, or quote the key alone")
        return _with_half_width(figures, place, unit)
    texts = [_written(rounded(figure.exact, place, figure.rounding), place) for figure in figures]
    if is_interval:
        texts[-2:] = [f"[{texts[-2]},{numbers.NO_BREAK}{texts[-1]}]"]
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


def _unit(first: Decimal, own: Number, form: dict[str, int]) -> tuple[int, str]:
    """Return the power of ten of the unit and its sign, by default those of the value's own text."""
    if "percent" in form or (own.unit == _PERCENT and "si" not in form):
        return _PERCENT, "%"
    if "si" not in form or not first:
        return 0, ""
    power = min(max(3 * (first.adjusted() // 3), -12), 12)
    return power, f"{numbers.NO_BREAK}{_PREFIXES[power]}" if power else ""


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


class UnknownKeyError(CitationError, KeyError):
    """There is no such value; a mapping's own methods take it for what they expect."""

    def __str__(self) -> str:
        """Return the line, without the quotation marks of a KeyError."""
        return str(self.args[0])


@dataclass(frozen=True, slots=True)
class Quoted:
    """A value: as text what the report prints, as a number what was measured.

    ``doubt`` says why what rests on it has to be written again, and is empty where it may be quoted.
    """

    key: str
    text: str
    numbers: tuple[float, ...]
    doubt: str

    def __str__(self) -> str:
        """Return the text, which inline code of a notebook or of Quarto prints."""
        return self.text

    def __repr__(self) -> str:
        """Return key and text."""
        return f"<{self.key}: {self.text}>"

    def __float__(self) -> float:
        """Return the number, with all its digits.

        Raises:
            CitationError: the value is a word, or an interval of several numbers.
        """
        if len(self.numbers) != 1:
            raise CitationError(
                f"{self.key} is {self.text!r}, not one number; ask for a part, such as :estimate"
            )
        return self.numbers[0]

    def _repr_html_(self) -> str:
        return f'<span title="{html.escape(self.key)}">{html.escape(self.text)}</span>'


class Values(Mapping[str, Quoted]):
    """All values of a run or an audit; a key may ask for a form, as in ``KEY|digits=3``."""

    def __init__(self, record: RunRecord | AuditRecord) -> None:
        self._known = by_key(record)

    def __getitem__(self, key: str) -> Quoted:
        """Return the value of a key.

        Raises:
            CitationError: there is no such key, and the nearest one is suggested, or no such form.
        """
        try:
            value = lookup_in(self._known, key)
        except CitationError as error:
            raise UnknownKeyError(str(error)) from error
        figures = tuple(float(one.exact) for one in value.figures)
        return Quoted(value.key, value.text, figures, value.doubt)

    def __iter__(self) -> Iterator[str]:
        """Return the keys, without forms."""
        return iter(self._known)

    def __len__(self) -> int:
        """Return how many values there are."""
        return len(self._known)

    def __repr__(self) -> str:
        """Return how many values there are."""
        return f"<{len(self)} values of sdpa-verify>"


def values(record: RunRecord | AuditRecord | Path | str) -> Values:
    """Return the values of a run, of an audit, or of the file of one, by the keys that documents quote.

    ``values(record)["score-variance.slope:estimate"]`` prints as the report does, and is a number for
    ``float``.

    Raises:
        ResultsError: the file cannot be read, or this is no record.
    """
    if isinstance(record, str | Path):
        return Values(load_either(Path(record)))
    if not isinstance(record, RunRecord | AuditRecord):
        raise ResultsError(
            f"{type(record).__name__}: is no record of a run or an audit; give what run returns"
        )
    return Values(record)
