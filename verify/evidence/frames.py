"""Records as columns by name, which pandas, polars and pyarrow take: one column a field, one row a record.

A plain mapping of lists, as pandas 3 and polars have deprecated the dataframe interchange protocol, and what
takes its place, the capsules of Arrow, needs a library of Arrow's on this side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from verify.errors import SettingsError, unknown

if TYPE_CHECKING:
    from verify.evidence.records import Record

Frame = dict[str, list[Any]]
"""Columns by name, all of one length; None is a missing value."""


def row_of(record: Record, *names: str, **before: object) -> dict[str, Any]:
    """Return the named fields of a record, all if none is named, after what comes ``before`` them.

    A pair of ends is two fields, ``interval_low`` and ``interval_high``, and a mapping one for each of its
    names, such as ``cell_d_k``.
    """
    row: dict[str, Any] = dict(before)
    for name in names or type(record).model_fields:
        value = getattr(record, name)
        if isinstance(value, dict):
            row |= {f"{name}_{key}": one for key, one in value.items()}
        elif name in {"interval", "band"}:
            row[f"{name}_low"], row[f"{name}_high"] = value
        else:
            row[name] = str(value) if isinstance(value, StrEnum) else value
    return row


def frame_of(rows: Iterable[Mapping[str, Any]]) -> Frame:
    """Return the columns of some rows, each of one type: numbers beside text are text."""
    rows = list(rows)
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: _of_one_type([row.get(name) for row in rows]) for name in names}


def _of_one_type(column: list[Any]) -> list[Any]:
    kinds = {type(value) for value in column} - {type(None)}
    kind = str if str in kinds else float
    return column if len(kinds) < 2 else [None if value is None else kind(value) for value in column]


def refuse_unknown_rows(of: object, known: Sequence[str]) -> None:
    """Refuse a kind of rows that a frame cannot have.

    Raises:
        SettingsError: it is none of the ``known`` ones.
    """
    if of not in known:
        raise SettingsError(unknown("frame of", str(of), known, f"give one of {', '.join(known)}"))
