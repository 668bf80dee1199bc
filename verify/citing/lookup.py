"""Values by their keys: looked up, in the form that a document asks for, and as numbers for Python.

A key may ask for a form, such as ``KEY|.3f``; `verify.citing.forms` has them all.
"""

import difflib
import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from verify.citing.forms import formatted
from verify.citing.values import Evidence, Value, values_of
from verify.errors import CitationError
from verify.evidence import RunRecord
from verify.evidence.audits import AuditRecord
from verify.evidence.load import load_either

_DIGEST = re.compile("[0-9a-f]{12,64}")


def lookup(record: Evidence, key: str) -> Value:
    """Return what ``key`` stands for in a run or an audit.

    Twelve digits or more of a digest stand for what has that digest.

    Raises:
        CitationError: there is no such key; the nearest one is suggested.
    """
    known = by_key(record, "" if "|" in key else _head(key))
    return lookup_in(known or by_key(record), key)


def lookup_in(known: Mapping[str, Value], key: str, *, suggest: bool = True) -> Value:
    """Return what ``key`` stands for among the values known; see `by_key`.

    Raises:
        CitationError: there is no such key; the nearest one is suggested, unless ``suggest`` is False. Or no
            such form, which a key may ask for as in ``KEY|.3f``.
    """
    if key in known:
        return known[key]
    whole, bar, form = (part.strip() for part in key.partition("|"))
    if whole in known and bar:
        return formatted(known, whole, form)
    if _DIGEST.fullmatch(whole):
        sealed = [
            value for value in known.values() if value.unit == "digest" and value.text.startswith(whole)
        ]
        if len(sealed) == 1:
            return known[sealed[0].key.removesuffix(":digest")]
    near = _nearest(whole, known) if suggest else ""
    hint = f"did you mean {near!r}?" if near else "`sdpa-verify values` lists them all"
    raise CitationError(f"no value {shortened(whole)!r} in these results; {hint}")


def _nearest(key: str, known: Iterable[str]) -> str:
    """Return the key that may have been meant, of the head that may have been, or nothing.

    Where a key lacks nothing but its head, as a statement's id alone does, it is the one.
    """
    by_head: dict[str, list[str]] = {}
    headless = []
    for name in known:
        by_head.setdefault(_head(name), []).append(name)
        headless += [name] if name.partition(".")[2] == key else []
    if len(headless) == 1:
        return headless[0]
    heads = difflib.get_close_matches(_head(key), by_head, n=1, cutoff=0.5)
    near = difflib.get_close_matches(key, by_head[heads[0]], n=1, cutoff=0.5) if heads else []
    return near[0] if near else ""


def shortened(text: str) -> str:
    """Return a text in one line of at most 60 characters, with ordinary spaces."""
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
    for given in names:
        key = lookup(record, given).key if _DIGEST.fullmatch(given) else given
        known = by_key(record, _head(key))
        matching = {
            name: value
            for name, value in known.items()
            if key == _head(key) or name == key or name.startswith(f"{key}:")
        }
        found |= matching or {key: lookup(record, key)}
    return list(found.values())


def _head(key: str) -> str:
    return key.partition(":")[0].partition(".")[0]


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

    def __format__(self, specification: str) -> str:
        """Return the number as Python formats it, or the text where nothing is asked for."""
        return format(float(self) if specification[-1:] in set("fegFEG%") else self.text, specification)

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
    """All values of a run or an audit; a key may ask for a form, as in ``KEY|.3f``."""

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
        figures = tuple(float(figure.exact) for figure in value.figures)
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
    ``float`` and in f-strings such as ``f"{slope:.3f}"``.

    Raises:
        ResultsError: the file cannot be read.
    """
    if isinstance(record, str | Path):
        return Values(load_either(Path(record)))
    return Values(record)
