"""Reads what the source documents state, ``sources.toml``; every mistake in it is reported by line."""

from __future__ import annotations

import difflib
import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import ConfigDict, Field, PrivateAttr, ValidationError

from verify.engine.contradictions import contradictions
from verify.engine.entries import StatementEntry
from verify.engine.origin import Origin
from verify.errors import SourcesError
from verify.evidence import Record, Source
from verify.files.reading import MEGABYTE, Kind, read_text
from verify.files.shipped import folder

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

_SOURCES = Kind(MEGABYTE, SourcesError, "give a TOML file in UTF-8 of at most 1 MB", dash=True)
_REMEDIES = {
    "missing": "is missing; add it",
    "extra_forbidden": "is not a known key; remove it or correct its spelling",
    "string_type": "must be text; put it in quotation marks",
    "string_pattern_mismatch": "must be lower-case words joined by hyphens, as in score-variance; correct it",
    "bool_type": "must be true or false; correct it",
    "literal_error": 'must be "says" or "prints"; correct it',
    "enum": 'must be an outcome such as "holds"; correct it',
    "tuple_type": "must be a list of tables; write each under its own [[header]]",
    "model_type": "must be a table; write it under its own [[header]]",
}


class SourceBook(Record):
    """The source documents and what they state, in the order of the file."""

    # The file's tables are called by their singular names and by no others.
    model_config = ConfigDict(populate_by_name=False)

    sources: tuple[Source, ...] = Field(alias="source")
    statements: tuple[StatementEntry, ...] = Field(alias="statement")
    _origin: Origin | None = PrivateAttr(default=None)

    def place(self, statement: int, part: int, key: str) -> str:
        """Return where a part's key stands: in the file that this was read from, else by its statement."""
        if self._origin is None:
            return f"statement {self.statements[statement].id}"
        return self._origin.at(("statement", statement, "part", part, key))

    def read_from(self, origin: Origin) -> SourceBook:
        """Return this book with the file that errors are to name."""
        self._origin = origin
        return self

    def wanted(self, claim: str) -> tuple[Wanted, ...]:
        """Return the evidence that the statements' parts expect ``claim`` to have."""
        return tuple(
            Wanted(part.evidence or "", self.place(i, j, "evidence"))
            for i, entry in enumerate(self.statements)
            for j, part in enumerate(entry.parts)
            if part.claim == claim and part.evidence_id and part.compute is None
        )


@dataclass(frozen=True)
class Wanted:
    """A check, control or fact that a statement rests on, as ``kind:id``, and where it is named."""

    evidence: str
    place: str

    def found_among(self, claim: str, present: Collection[str]) -> None:
        """Raise unless the evidence is among those ``present`` in the claim, each as ``kind:id``.

        Raises:
            SourcesError: it is not; the text names file, line and the nearest id that the claim has.
        """
        if self.evidence not in present:
            kind, _, name = self.evidence.partition(":")
            have = [one.partition(":")[2] for one in present if one.startswith(f"{kind}:")]
            raise SourcesError(
                f"{self.place} names the {kind} {name!r}, which the claim {claim} does not have; "
                f"{_did_you_mean(name, have)}"
            )


def refuse_unknown_claims(book: SourceBook, known: Collection[str]) -> None:
    """Refuse a book in which a part is decided by a claim that does not exist.

    Raises:
        SourcesError: a claim's id is not among those ``known``; the text names file and line.
    """
    for i, entry in enumerate(book.statements):
        for j, part in enumerate(entry.parts):
            if part.claim is not None and part.claim not in known:
                raise SourcesError(
                    f"{book.place(i, j, 'claim')} names the claim {part.claim!r}, which does not exist; "
                    f"{_did_you_mean(part.claim, known)}"
                )


def _did_you_mean(name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else "correct it"


def read_sources(path: Path | None = None) -> SourceBook:
    """Return the sources and statements of the file at ``path``, by default those that ship with the tool.

    Raises:
        SourcesError: the file cannot be read, has over 1 MB or is malformed; the text says where and how.
    """
    path = path or folder("data") / "sources.toml"
    text, name = read_text(path, _SOURCES), str(path)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SourcesError(_syntax(name, text, str(error))) from error
    except RecursionError as error:
        raise SourcesError(f"{name}: brackets are nested too deeply; flatten them") from error
    origin = Origin.of(name, text, data)
    try:
        book = SourceBook.model_validate(data)
    except ValidationError as error:
        # A misspelt key is both unknown and missing: what stands there says more than what does not.
        first = min(error.errors(), key=lambda e: (e["type"] == "missing", origin.line(e["loc"])))
        remedy = _REMEDIES.get(first["type"], first["msg"])
        raise SourcesError(f"{origin.at(first['loc'])} {remedy}") from error
    for place, remedy in contradictions(book.sources, book.statements):
        raise SourcesError(f"{origin.at(place)} {remedy}")
    return book.read_from(origin)


def _syntax(name: str, text: str, message: str) -> str:
    place = re.search(r" \(at line (\d+), column \d+\)$", message)
    line = int(place[1]) if place else text.rstrip().count("\n") + 1
    what = " ".join(message[: place.start()].split()) if place else message
    return f"{name}: line {line}: is not TOML ({what}); correct the line"
