"""Reads what the source documents state, ``sources.toml``; every mistake in it is told by line and key."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, StrictBool, ValidationError
from pydantic_core import PydanticCustomError

from verify.errors import SourcesError
from verify.evidence import Outcome, Record, Slug, Source
from verify.resources import folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    Place = tuple[str | int, ...]

_EVIDENCE = re.compile(r"verdict|(?:check|control|fact):[a-z0-9]+(?:-[a-z0-9]+)*")
_FIGURE = re.compile(r"-?[0-9]+(?:\.[0-9]+)?%?")
_TABLE = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]")
_KEY = re.compile(r"""\s*["']?([\w-]+)["']?\s*[=.]""")
_MULTILINE = re.compile(r"\"\"\"|'''")
_MENDS = {
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


def is_figure(text: str) -> bool:
    """Return whether ``text`` is a decimal number as printed, such as ``"0.880"`` or ``"26.89%"``."""
    return _FIGURE.fullmatch(text) is not None


def _prose(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("empty", "must not be empty; write what it should say")
    if text.count("$") % 2:
        raise PydanticCustomError("dollar", "has a dollar sign without its partner; put LaTeX between two")
    return text


def _evidence(text: str) -> str:
    if not _EVIDENCE.fullmatch(text):
        forms = '"verdict", "check:ID", "control:ID" or "fact:ID"'
        raise PydanticCustomError("evidence", f"is not a kind of evidence; write {forms}")
    return text


def _printed(text: str) -> str:
    if not is_figure(text):
        raise PydanticCustomError("printed", 'is not a decimal number; write it as in "0.880" or "26.89%"')
    return text


Prose = Annotated[str, AfterValidator(_prose)]


class PartEntry(Record):
    """One thing a statement says, as the file has it; ``about`` when the source itself says "about".

    ``kind`` "prints" is for what stands on the page: a figure, a formula, a line of code, an axis.
    """

    text: Prose
    claim: str = Slug
    evidence: Annotated[str, AfterValidator(_evidence)]
    kind: Literal["says", "prints"]
    printed: Annotated[str, AfterValidator(_printed)] | None = None
    about: StrictBool = False

    @property
    def evidence_kind(self) -> str:
        """What decides this part: ``"verdict"``, ``"check"``, ``"control"`` or ``"fact"``."""
        return self.evidence.partition(":")[0]

    @property
    def evidence_id(self) -> str:
        """The id of the check, control or fact; empty for a verdict."""
        return self.evidence.partition(":")[2]


class StatementEntry(Record):
    """A statement as the file has it; ``claim`` is the claim that mainly decides it.

    ``note`` was written for the outcome ``noted``; a run that decides otherwise gives its own reasons.
    """

    id: str = Slug
    source: str
    text: Prose
    claim: str = Slug
    note: Prose
    noted: Outcome
    parts: tuple[PartEntry, ...] = Field(alias="part")


class SourceBook(Record):
    """The source documents and what they state, in the order of the file."""

    # The file's tables are called by their singular names and by no others.
    model_config = ConfigDict(populate_by_name=False)

    sources: tuple[Source, ...] = Field(alias="source")
    statements: tuple[StatementEntry, ...] = Field(alias="statement")


def read_sources(path: Path | None = None) -> SourceBook:
    """Return the sources and statements of the file at ``path``, by default those that ship with the tool.

    Raises:
        SourcesError: the file cannot be read or is malformed; the text names file, line, table, key, mend.
    """
    text, name = _content(path)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SourcesError(_syntax(name, text, str(error))) from error
    try:
        book = SourceBook.model_validate(data)
    except ValidationError as error:
        lines = _lines(text)
        # A misspelt key is both unknown and missing: what stands there tells more than what does not.
        first = min(error.errors(), key=lambda e: (e["type"] == "missing", _line_of(e["loc"], lines)))
        place, mend = first["loc"], _MENDS.get(first["type"], first["msg"])
        raise SourcesError(f"{name}: line {_line_of(place, lines)}: {_told(place, data)} {mend}") from error
    for place, mend in _contradictions(book):
        raise SourcesError(f"{name}: line {_line_of(place, _lines(text))}: {_told(place, data)} {mend}")
    return book


def _content(path: Path | None) -> tuple[str, str]:
    name = str(path or "sources.toml")
    raw = b""
    try:
        path = path or folder("data") / "sources.toml"
        raw = path.read_bytes()
        return raw.decode("utf-8"), str(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise SourcesError(f"{name}: cannot be read ({reason}); give a readable TOML file") from error
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise SourcesError(f"{name}: line {line}: is not UTF-8 text; save the file as UTF-8") from error


def _syntax(name: str, text: str, message: str) -> str:
    place = re.search(r" \(at line (\d+), column \d+\)$", message)
    line = int(place[1]) if place else text.rstrip().count("\n") + 1
    what = " ".join(message[: place.start()].split()) if place else message
    return f"{name}: line {line}: is not TOML ({what}); correct the line"


def _lines(text: str) -> dict[Place, int]:
    """Return the line of each table header and key; the TOML reader tells them for syntax errors only."""
    lines: dict[Place, int] = {}
    counts: Counter[Place] = Counter()
    here: Place = ()
    quote = ""
    for number, line in enumerate(text.split("\n"), start=1):
        if not quote:
            if header := _TABLE.match(line):
                here = _table(header[2], header[1] == "[[", counts)
                lines[here] = number
                if header[1] == "[[":
                    lines.setdefault(here[:-1], number)
            elif key := _KEY.match(line):
                lines.setdefault((*here, key[1]), number)
        for mark in _MULTILINE.findall(line):
            quote = mark if not quote else "" if mark == quote else quote
    return lines


def _table(dotted: str, in_list: bool, counts: Counter[Place]) -> Place:
    *outer, last = (name.strip(" \t\"'") for name in dotted.split("."))
    here: Place = ()
    for name in outer:
        here = (*here, name)
        if counts[here]:
            here = (*here, counts[here] - 1)
    here = (*here, last)
    if in_list:
        counts[here] += 1
        here = (*here, counts[here] - 1)
    return here


def _line_of(place: Place, lines: dict[Place, int]) -> int:
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place, 1)


def _told(place: Place, data: dict[str, Any]) -> str:
    """Return the place in words, such as ``[[statement]] v4, [[statement.part]] 2, key "claim"``."""
    words: list[str] = []
    names: list[str] = []
    inside: Any = data
    for step in place:
        if isinstance(step, int):
            inside = inside[step]
            name = inside.get("id") if isinstance(inside, dict) else None
            words[-1] = f"[[{'.'.join(names)}]] {name if isinstance(name, str) else step + 1}"
        else:
            inside = inside.get(step) if isinstance(inside, dict) else None
            names.append(step)
            words.append(f'key "{step}"')
    return " ".join(", ".join(words).split())


def _contradictions(book: SourceBook) -> Iterator[tuple[Place, str]]:
    """Yield what is wrong between keys, which the types of the single keys cannot show."""
    sources = [source.id for source in book.sources]
    yield from _repeats("source", sources)
    yield from _repeats("statement", [entry.id for entry in book.statements])
    for i, entry in enumerate(book.statements):
        if entry.source not in sources:
            yield ("statement", i, "source"), f"is none of the sources {', '.join(sources)}; name one of them"
        if entry.claim not in {part.claim for part in entry.parts}:
            yield ("statement", i, "claim"), "decides none of the parts; name the claim of one of them"
        for j, part in enumerate(entry.parts):
            for key, mend in _part_contradictions(part):
                yield ("statement", i, "part", j, key), mend


def _repeats(table: str, ids: list[str]) -> Iterator[tuple[Place, str]]:
    for i, name in enumerate(ids):
        if name in ids[:i]:
            yield (table, i, "id"), f"is the id of an earlier {table}, too; give each its own"


def _part_contradictions(part: PartEntry) -> Iterator[tuple[str, str]]:
    by = part.evidence_kind
    if part.kind == "says" and by == "fact":
        yield "evidence", 'is a figure, which decides only kind "prints"; name a verdict, check or control'
    if part.kind == "prints" and by == "verdict":
        yield "evidence", 'has no figure for kind "prints"; name a fact, check or control'
    has_figure = part.kind == "prints" and by in {"fact", "check"}
    if has_figure and part.printed is None:
        yield "printed", 'is missing for kind "prints"; add the figure as printed'
    if not has_figure and part.printed is not None:
        yield "printed", 'needs kind "prints" and a fact or check to compare with; remove it or name those'
