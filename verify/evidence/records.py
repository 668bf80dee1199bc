"""What all records have in common: they are frozen, fingerprinted, and shown to people in a line."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any, Protocol, Self, TypeVar

from pydantic import BaseModel, ConfigDict, model_validator

from verify.errors import ClaimError, unknown
from verify.evidence.texts import few
from verify.text.escapes import for_html


class Record(BaseModel):
    """Base of all records: frozen, and unknown fields are errors."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", populate_by_name=True, allow_inf_nan=False, defer_build=True
    )

    def __hash__(self) -> int:
        """Return one number for records that are equal; mappings are no obstacle."""
        return hash(tuple(_hashable(getattr(self, name)) for name in type(self).model_fields))

    @model_validator(mode="before")
    @classmethod
    def _has_few_keys(cls, data: object) -> object:
        return few(data)


def _hashable(value: object) -> object:
    if isinstance(value, dict):
        return frozenset((name, _hashable(one)) for name, one in value.items())
    return tuple(map(_hashable, value)) if isinstance(value, tuple) else value


Shown = Iterable[tuple[str, object]]
"""What the text of a record, for people, shows of it: names and values."""


def shown(record: Record, *names: str) -> Shown:
    """Yield some fields of a record for its text; that of all fields would fill pages."""
    for name in names:
        value = getattr(record, name)
        yield name, str(value) if isinstance(value, StrEnum) else value


class _Identified(Protocol):
    @property
    def id(self) -> str: ...


_Part = TypeVar("_Part", bound=_Identified)


def by_id(parts: Sequence[_Part], name: str, where: str, what: str) -> _Part:
    """Return the one of ``parts`` whose id is ``name``; ``where`` and ``what`` are for the message.

    Raises:
        ClaimError: there is none; the nearest one is suggested.
    """
    found = {part.id: part for part in parts}
    if name not in found:
        some = f"the {what}s are {', '.join(found)}" if 0 < len(found) < 9 else f"there are {len(found)}"
        raise ClaimError(where + unknown(what, name, found, some))
    return found[name]


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return an HTML table of plain texts."""
    names = "".join(f"<th>{for_html(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{for_html(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"


def fingerprint(content: Any) -> str:
    """Return the SHA-256, in hexadecimal, of a record's content as canonical JSON."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


class Sealed(Record):
    """A record that fills a file, whose last field ``seal`` is a digest of all the rest."""

    def sealed(self) -> Self:
        """Return this record with its seal set."""
        return self.model_copy(update={"seal": self.fitting_seal()})

    def fitting_seal(self) -> str:
        """Return the seal that fits the content."""
        return fingerprint(self.model_dump(mode="json", by_alias=True, exclude={"seal"}))

    def to_json(self) -> str:
        """Return the JSON text of this record, ending with a newline."""
        return self.model_dump_json(by_alias=True, indent=1) + "\n"
