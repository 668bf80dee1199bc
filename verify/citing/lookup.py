"""Values by their keys: looked up, in the form that a document asks for, and as numbers for Python.

``KEY|form`` asks for one of these::

    .3f | .2e | .1% | .3g           as Python formats a number
    .12                             of a digest, its first digits
    pm                              an estimate with its standard error
    interval | interval95 | low …   the part of this name
    default                         the value's own text
    "{low:.1f} to {high:.1f}"       parts by their names, each with its own digits; {text} is the value
"""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN
from pathlib import Path

from verify.citing.values import Evidence, ExactNumber, Value, values_of
from verify.errors import CitationError, nearest
from verify.evidence.load import load_either, meant
from verify.text import numbers
from verify.text.escapes import LOWERED, RAISED

_SPEC = re.compile(r"(?!\.00?g)\.[0-9]{1,2}[fe%g]?")
_MODES = {"nearest": ROUND_HALF_EVEN, "down": ROUND_FLOOR, "up": ROUND_CEILING}
_LEAST_DIGEST = 12
_ALL = 'default, .Nf, .Ne, .N%, .Ng, pm, a part such as interval, or "a sentence with {low:.Nf}"'


class Values(dict[str, Value]):
    """Values by their keys; a key may ask for a form, as in ``KEY|.3f``."""

    def __missing__(self, key: str) -> Value:
        """Return the value of a key with a form.

        Raises:
            CitationError: there is no such key, and the nearest one is suggested, or no such form.
        """
        whole, bar, form = (part.strip() for part in key.partition("|"))
        if whole in self and bar:
            return replace(self[whole], key=f"{whole}|{form}", text=written(self, whole, form))
        # Claims as people call them, a key that looks like it, or a key that ends so. Of thousands of keys,
        # only those of the nearest claim are compared.
        heads = dict.fromkeys(re.split("[.:]", name, maxsplit=1)[0] for name in self)
        close = difflib.get_close_matches(re.split("[.:]", whole, maxsplit=1)[0], heads, n=1)
        near = nearest(whole, (name for name in self if name.startswith(tuple(close))))
        alone = (f"did you mean {name!r}?" for name in self if name.endswith(f".{whole}"))
        hint = meant(whole, self) or near or next(alone, "`sdpa-verify values` lists them all")
        raise CitationError(f"no value {shortened(whole)!r} in these results; {hint}")


def by_key(record: Evidence) -> Values:
    """Return the values of a run or an audit by their keys."""
    return Values((value.key, value) for value in values_of(record))


def values(record: Evidence | Path | str) -> Values:
    """Return the values of a run, of an audit, or of the file of one, by the keys that documents quote.

    ``values(record)["score-variance.slope:estimate"]`` prints as the report does, and is a number for
    ``float`` and in f-strings such as ``f"{slope:.3f}"``.

    Raises:
        VerifyError: the file cannot be read.
    """
    return by_key(load_either(Path(record)) if isinstance(record, str | Path) else record)


def shortened(text: str) -> str:
    """Return a text in one line of at most 60 characters, with ordinary spaces."""
    shown = " ".join(text[:1000].split())
    return shown if len(shown) <= 60 else shown[:59] + "…"


def chosen(record: Evidence, names: Sequence[str]) -> list[Value]:
    """Return the values that ids or keys name: all of a claim or a layer, or a key's own and its parts'.

    No names stand for all values; none comes twice.

    Raises:
        CitationError: a name stands for nothing.
    """
    known = by_key(record)
    values: dict[str, Value] = {} if names else known
    for key in names:
        starts = (f"{key}:", f"{key}.")
        inside = {name: value for name, value in known.items() if name == key or name.startswith(starts)}
        values |= inside or {key: known[key]}
    return list(values.values())


def written(
    known: Mapping[str, Value], key: str, form: str, marked: Callable[[str, bool], str] = lambda text, _: text
) -> str:
    """Return what a quotation of ``key`` in this form says.

    ``marked`` puts a value's text into a language's own markup, given whether the text is of numbers; the
    words of a sentence stay as they are.

    Raises:
        CitationError: there is no such form or part, or it does not suit the value.
    """
    if sentence := re.fullmatch(r'"([^"\n]+)"', form.strip()):
        parts = re.compile(r"\{(?P<name>[a-z][a-z0-9-]*)(?::(?P<spec>[^{}]*))?\}")
        return parts.sub(
            lambda part: _part(known, key, part["name"], part["spec"] or "", marked), sentence[1]
        )
    # Digits alone are of the value itself; anything else names a part.
    name, spec = ("text", form.strip()) if _SPEC.fullmatch(form.strip()) else (form.strip(), "")
    return _part(known, key, name, spec, marked)


def _part(
    known: Mapping[str, Value], key: str, name: str, spec: str, marked: Callable[[str, bool], str]
) -> str:
    """Return the text of a value, or of its part of this name, in these digits."""
    whole = key.partition(":")[0]
    value = known[key] if name in {"default", "text", "pm"} else known.get(f"{whole}:{name}")
    if value is None or (spec and not _SPEC.fullmatch(spec)):
        parts = sorted(other.removeprefix(f"{whole}:") for other in known if other.startswith(f"{whole}:"))
        choice = f"choose {_ALL}" + f"; its parts are {', '.join(parts)}" * bool(parts)
        raise CitationError(f"{key} has no form {(spec or name)[:60]!r}; {choice}")
    named, error = f"{value.key} is {' '.join(value.text.split())}", known.get(f"{whole}:error")
    suits = [".N"] if value.is_digest else []
    if value.figures and value.figures[0].rounding != "fixed":
        suits = [".Nf", ".Ng"] if value.text.endswith("%") else [".Nf", ".Ng", ".Ne", ".N%"]
        if error and value.key.removeprefix(whole) in {"", ":estimate"}:
            suits.append("pm")
    # Two things are asked for that may not suit: the standard error, and digits of a kind.
    for option in ("pm" if name == "pm" else "", spec and f".N{spec.lstrip('.0123456789')}"):
        if option and option not in suits:
            choice = ", ".join(("default", *suits, '"a sentence with {text}"'))
            raise CitationError(f"{named}, which {spec or name} does not suit; choose {choice}")
    if value.is_digest and spec:
        digits = int(spec.removeprefix("."))
        if not _LEAST_DIGEST <= digits <= len(value.text):
            raise CitationError(f"{value.key}: {digits} digits of a digest; give 12 to {len(value.text)}")
        return marked(value.text[:digits], False)
    if not spec and name != "pm":
        return marked(value.text, bool(value.figures))
    return marked(_numeric(value, error.figures if error and name == "pm" else (), spec, named), True)


def _numeric(value: Value, error: tuple[ExactNumber, ...], spec: str, named: str) -> str:
    """Return a value's figures, or the first with its standard error, in the digits asked for."""
    figures = (value.figures[0], *error) if error else value.figures
    digits, kind = int(spec.strip(".fe%g") or 0), spec[-1:] or "g"
    finest = min(int(figure.printed.as_tuple().exponent) for figure in (figures[:1] if error else figures))
    first, largest = figures[0].exact, max((figure.exact for figure in figures), key=abs)
    # What is left to a factor: a power of ten, or the sign of hundredths.
    factor = re.search(f"×10([{RAISED}]+)", value.text)
    power = int(factor[1].translate(LOWERED)) if factor else 0
    power = {"%": -2, "f": 0, "e": largest.adjusted() if largest else 0}.get(kind, power)
    if kind == "e" and largest:
        # 9.96 may round to 10.
        modes = [(figure.exact, _MODES[figure.rounding]) for figure in figures]
        rounded = [numbers.rounded(exact, power - digits, mode) for exact, mode in modes]
        power = max(power, max(rounded, key=abs).adjusted())
    # The place of the last digit: none is finer than what is printed, unless the number is exact.
    place = finest if not spec else first.adjusted() - digits + 1 if kind == "g" else power - digits
    if place < finest and any(figure.exact != figure.printed for figure in figures):
        raise CitationError(f"{named} and has no more digits that mean something; ask for fewer")
    for figure in figures if error else figures[:1]:
        is_lost = figure.exact and not numbers.rounded(figure.exact, place, _MODES[figure.rounding])
        if is_lost and figure.rounding != "down" and (figure.printed or place > finest):
            raise CitationError(f"{named}, of which this leaves 0; ask for more digits")
    # All figures have the same last place and leave out the same power, as the report prints them.
    texts = [
        numbers.at(figure.exact.scaleb(-power), place - power, _MODES[figure.rounding]) for figure in figures
    ]
    unit, gap = "%" if kind == "%" or value.text.endswith("%") else numbers.times(power), numbers.NO_BREAK
    if error:
        joined = f"{gap}±{gap}".join(texts)
        return f"({joined}){unit}" if unit else joined
    if len(texts) > 1:
        # The last two are the ends of an interval.
        texts = [*texts[:-2], f"[{texts[-2]},{gap}{texts[-1]}]"]
    return " ".join(f"{text}{unit}" for text in texts)
