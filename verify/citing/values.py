"""Every value of a run or an audit that a document may quote, listed and looked up by its key."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from verify.citing.audit_values import audit_values
from verify.citing.formatting import formatted
from verify.citing.run_values import run_values
from verify.errors import CitationError
from verify.evidence import RunRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from verify.citing.value import Value
    from verify.evidence.audits import AuditRecord

    Evidence = RunRecord | AuditRecord


def lookup(record: Evidence, key: str) -> Value:
    """Return what ``key`` stands for in a run or an audit.

    Raises:
        CitationError: there is no such key; the nearest one is suggested.
    """
    return lookup_in(by_key(record, _head(key)) or by_key(record), key)


def lookup_all(record: Evidence, keys: Iterable[str]) -> list[Value]:
    """Return what the keys stand for, each once.

    Raises:
        CitationError: there is no such key; the nearest one is suggested.
    """
    known = by_key(record)
    return [lookup_in(known, key) for key in dict.fromkeys(keys)]


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
    return {value.key: value for value in values(record, head)}


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


def values(record: Evidence, head: str | None = None) -> Iterator[Value]:
    """Yield a record's values, or only those of the claim, the layer or the whole that ``head`` names."""
    return run_values(record, head) if isinstance(record, RunRecord) else audit_values(record, head)
