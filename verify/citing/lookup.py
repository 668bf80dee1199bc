"""Values by their keys: looked up, in the form that a document asks for, and as numbers for Python.

A key may ask for a form, such as ``KEY|.3f``; `verify.citing.forms` has them all.
"""

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path

from verify.citing.forms import formatted
from verify.citing.values import Evidence, Value, values_of
from verify.errors import CitationError
from verify.evidence.load import load_either


def by_key(record: Evidence, head: str | None = None) -> dict[str, Value]:
    """Return the values of a run or an audit by their keys, or those of ``head`` alone."""
    return {value.key: value for value in values_of(record, head)}


def lookup(record: Evidence, key: str) -> Value:
    """Return what ``key`` stands for in a run or an audit.

    Raises:
        CitationError: as `lookup_in`.
    """
    head = key.partition("|")[0].partition(":")[0].partition(".")[0].strip()
    return lookup_in(by_key(record, head) or by_key(record), key)


def lookup_in(known: Mapping[str, Value], key: str) -> Value:
    """Return what ``key`` stands for among the values known; see `by_key`.

    Raises:
        CitationError: there is no such key, and the nearest one is suggested, or no such form.
    """
    whole, bar, form = (part.strip() for part in key.partition("|"))
    if whole in known:
        return formatted(known, whole, form) if bar else known[whole]
    # A statement's id alone lacks nothing but its head.
    near = [name for name in known if name.endswith(f".{whole}")]
    near = near or difflib.get_close_matches(whole, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else "`sdpa-verify values` lists them all"
    raise CitationError(f"no value {shortened(whole)!r} in these results; {hint}")


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
        values |= inside or {key: lookup_in(known, key)}
    return list(values.values())


class Values(dict[str, Value]):
    """All values of a run or an audit; a key may ask for a form, as in ``KEY|.3f``."""

    def __missing__(self, key: str) -> Value:
        """Return the value of a key with a form.

        Raises:
            CitationError: there is no such key, and the nearest one is suggested, or no such form.
        """
        return lookup_in(self, key)


def values(record: Evidence | Path | str) -> Values:
    """Return the values of a run, of an audit, or of the file of one, by the keys that documents quote.

    ``values(record)["score-variance.slope:estimate"]`` prints as the report does, and is a number for
    ``float`` and in f-strings such as ``f"{slope:.3f}"``.

    Raises:
        ResultsError: the file cannot be read.
    """
    return Values(by_key(load_either(Path(record)) if isinstance(record, str | Path) else record))
