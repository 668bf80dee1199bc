"""Reads what the source documents state, ``sources.toml``; every mistake in it is reported by line."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, PrivateAttr, StrictBool, ValidationError
from pydantic_core import PydanticCustomError

from verify.engine.computations import FEWEST_SCORES, Computed, compute
from verify.errors import SourcesError
from verify.evidence import Outcome, Record, Slug, SourceRecord
from verify.evidence.texts import prose
from verify.files.names import shipped_folder
from verify.files.reading import MEGABYTE, InputKind, read_text
from verify.text.escapes import one_line
from verify.text.numbers import MINUS, as_decimal, is_figure

_SOURCES = InputKind(
    MEGABYTE, SourcesError, "give a TOML file in UTF-8 of at most 1 MB, or the name of a pack", dash=True
)
_REMEDIES = {
    "missing": "is missing; add it",
    "extra_forbidden": "is not a known key; remove it or correct its spelling",
    "string_type": "must be text; put it in quotation marks",
    "string_pattern_mismatch": "must be lower-case words joined by hyphens, as in score-variance; correct it",
    "bool_type": "must be true or false; correct it",
    "literal_error": 'must be "says" or "prints"; correct it',
    "enum": 'must be an outcome such as "holds"; correct it',
    "int_type": "must be a whole number; correct it",
    "greater_than_equal": "is too small; correct it",
    "less_than_equal": "is too large; correct it",
    "tuple_type": "must be a list of tables; write each under its own [[header]]",
    "model_type": "must be a table; write it under its own [[header]]",
}


_EVIDENCE = re.compile(r"verdict|(?:check|control|fact):[a-z0-9]+(?:-[a-z0-9]+)*")


def _prose(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("empty", "must not be empty; write what it should say")
    if text.count("$") % 2:
        raise PydanticCustomError("dollar", "has a dollar sign without its partner; put LaTeX between two")
    # A text in several lines of the file is one line here.
    return prose(" ".join(text.split()))


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

    ``kind`` "prints" is for what stands on the page: a figure, a formula, a line of code, an axis. Either
    the ``evidence`` of a ``claim`` decides it, or the expression that it has computed, at a dimension
    ``d_k`` and as a statistic of so many ``scores``, which may be printed or said. ``given`` are the numbers
    of its text that nothing decides.
    """

    text: Prose
    claim: Slug | None = None
    evidence: Annotated[str, AfterValidator(_evidence)] | None = None
    compute: str | None = None
    d_k: Annotated[int, Field(strict=True, ge=1, le=10**9)] | None = None
    scores: Annotated[int, Field(strict=True, ge=FEWEST_SCORES, le=10**12)] | None = None
    kind: Literal["says", "prints"]
    printed: Annotated[str, AfterValidator(_printed)] | None = None
    about: StrictBool = False
    given: tuple[str, ...] = ()

    @property
    def evidence_kind(self) -> str:
        """What decides this part: ``"verdict"``, ``"check"``, ``"control"``, ``"fact"`` or ``"computed"``."""
        return "computed" if self.compute is not None else (self.evidence or "").partition(":")[0]

    @property
    def evidence_id(self) -> str:
        """The id of the check, control or fact; empty for a verdict, and for what is computed."""
        return (self.evidence or "").partition(":")[2]

    def computed(self) -> Computed:
        """Return what it has computed; ``ValueError`` says what is wrong with it."""
        return compute(self.compute or "", self.d_k, self.scores)


class StatementEntry(Record):
    """A statement as the file has it; ``claim`` is the claim that mainly decides it, if one does.

    ``note`` was written for the outcome ``noted``; a run that decides otherwise, and one without a note,
    gives its own reasons. ``given`` are the numbers of its text that no part decides.
    """

    id: Slug
    source: str
    text: Prose
    claim: Slug | None = None
    note: Prose | None = None
    noted: Outcome | None = None
    given: tuple[str, ...] = ()
    parts: tuple[PartEntry, ...] = Field(alias="part")


KeyPath = tuple[str | int, ...]
"""The keys and list positions that lead to a value, from the outermost on."""

_TABLE = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]")
_KEY = re.compile(r"""\s*["']?([\w-]+)["']?\s*[=.]""")
_MULTILINE = re.compile(r"\"\"\"|'''")


@dataclass(frozen=True)
class Origin:
    """A TOML file as it was read: its name, its tables, and the line of each table and key."""

    name: str
    data: dict[str, Any]
    lines: dict[KeyPath, int]

    @classmethod
    def of(cls, name: str, text: str, data: dict[str, Any]) -> Origin:
        """Return the origin of the tables ``data``, which stand as ``text`` in the file ``name``."""
        return cls(name, data, _lines(text))

    def line(self, place: KeyPath) -> int:
        """Return the line of a place, or of the nearest table or key around it that has one."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)

    def at(self, place: KeyPath) -> str:
        """Return file, line and place in words, such as ``FILE: line 9: [[statement]] v4, key "claim"``."""
        return f"{self.name}: line {self.line(place)}: {one_line(_in_words(place, self.data))}"


def _lines(text: str) -> dict[KeyPath, int]:
    """Return the line of each table header and key; the TOML reader gives them for syntax errors only."""
    lines: dict[KeyPath, int] = {}
    counts: Counter[KeyPath] = Counter()
    here: KeyPath = ()
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


def _table(dotted: str, in_list: bool, counts: Counter[KeyPath]) -> KeyPath:
    *outer, last = (name.strip(" \t\"'") for name in dotted.split("."))
    here: KeyPath = ()
    for name in outer:
        here = (*here, name)
        if counts[here]:
            here = (*here, counts[here] - 1)
    here = (*here, last)
    if in_list:
        counts[here] += 1
        here = (*here, counts[here] - 1)
    return here


def _in_words(place: KeyPath, data: dict[str, Any]) -> str:
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


class SourceBook(Record):
    """The source documents and what they state, in the order of the file."""

    # The file's tables are called by their singular names and by no others.
    model_config = ConfigDict(populate_by_name=False)

    sources: tuple[SourceRecord, ...] = Field(alias="source", default=())
    statements: tuple[StatementEntry, ...] = Field(alias="statement", default=())
    _origin: Origin | None = PrivateAttr(default=None)
    _pack: str | None = PrivateAttr(default=None)

    def place(self, statement: int, part: int, key: str) -> str:
        """Return where a part's key stands: in the file that this was read from, else by its statement."""
        if self._origin is None:
            return f"statement {self.statements[statement].id}"
        return self._origin.at(("statement", statement, "part", part, key))

    def read_from(self, origin: Origin, pack: str | None) -> SourceBook:
        """Return this book with the file that errors are to name, and the name of its pack if it ships."""
        self._origin, self._pack = origin, pack
        return self

    @property
    def pack(self) -> str | None:
        """The name under which the book ships, None for the default one and the user's own."""
        return self._pack

    @property
    def claims(self) -> tuple[str, ...]:
        """The ids of the claims that decide something in it; computed parts need none."""
        ids = (part.claim for entry in self.statements for part in entry.parts)
        return tuple(dict.fromkeys(one for one in ids if one is not None))

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


def packs() -> dict[str, Path]:
    """Return the files of statements that ship with the tool besides the default one, by their names."""
    return {path.stem: path for path in sorted((shipped_folder("data") / "packs").glob("*.toml"))}


def read_sources(path: Path | None = None) -> SourceBook:
    """Return the sources and statements of a file, of the pack so named, or by default of the shipped file.

    A file of that name goes before a pack.

    Raises:
        SourcesError: the file cannot be read, has over 1 MB or is malformed; the text says where and how.
    """
    shipped = None if path is None or path.exists() else packs().get(str(path))
    path = shipped or path or shipped_folder("data") / "sources.toml"
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
    return book.read_from(origin, None if shipped is None else shipped.stem)


def _syntax(name: str, text: str, message: str) -> str:
    place = re.search(r" \(at line (\d+), column \d+\)$", message)
    line = int(place[1]) if place else text.rstrip().count("\n") + 1
    what = " ".join(message[: place.start()].split()) if place else message
    return f"{name}: line {line}: is not TOML ({what}); correct the line"


# An exponent and an index are a part of their formula.
_NUMBER = re.compile(r"(?<![A-Za-z_0-9.^])(?<![\^_]\{)(?:(?<![\w)\]}])[−-])?\d+(?:\.\d+)?%?")
_ANY_NUMBER = re.compile(r"\d+(?:\.\d+)?")
# What makes another number of a figure: signs, roots, powers, fractions, percent, groups of digits.
_NOT_BEFORE = r"(?<![\w.^√/{−–﹣⁻-])(?<!− )(?<!\d,)"
_NOT_AFTER = r"(?!\w|[.,]\d|\s*(?:[%‰^/×·⋅*\u0300-\u036f]|\\(?:%|cdot|times)))"
_BIND = "correct it, compute it, or list it under given"


def numbers_without(text: str, others: Iterable[str], inputs: Iterable[float] = ()) -> list[str]:
    """Return the numbers of a text that none of the others has; 0 and 1 are limits, and bound by none.

    The others print their numbers as the text does; ``inputs`` are numbers, of which TOML keeps no last zero.
    """
    known = {"0", "1"}
    for other in others:
        known |= {*_ANY_NUMBER.findall(other), *_signed(other)}
    values = {as_decimal(number) for number in inputs}
    return [
        one for one in _signed(text) if one not in known and (one[-1] == "%" or Decimal(one) not in values)
    ]


def _signed(text: str) -> dict[str, None]:
    """Return the numbers of a text in their order, a minus sign before them as a hyphen."""
    return dict.fromkeys(found.replace(MINUS, "-") for found in _NUMBER.findall(text))


def contradictions(
    documents: Sequence[SourceRecord], statements: Sequence[StatementEntry]
) -> Iterator[tuple[KeyPath, str]]:
    """Yield what is wrong between keys, which the types of the single keys cannot show."""
    sources = [source.id for source in documents]
    yield from _repeats("source", sources)
    yield from _repeats("statement", [entry.id for entry in statements])
    for i, entry in enumerate(statements):
        if entry.source not in sources:
            none = "is of no source; add a [[source]] of this id"
            remedy = f"is none of the sources {', '.join(sources)}; name one of them" if sources else none
            yield ("statement", i, "source"), remedy
        for key, remedy in _statement_contradictions(entry):
            yield ("statement", i, key), remedy
        for j, part in enumerate(entry.parts):
            if part.printed is not None and not _is_said(part, entry.text):
                remedy = "stands nowhere in the text as a number of its own; correct one of them"
                yield ("statement", i, "part", j, "printed"), remedy
            for key, remedy in _part_contradictions(part):
                yield ("statement", i, "part", j, key), remedy


def _is_said(part: PartEntry, whole: str) -> bool:
    """Return whether a part's figure stands in its text as a number of its own.

    What is computed may stand in the ``whole`` statement instead, and what a claim decides nowhere.
    """
    figure = re.escape(part.printed or "").replace(r"\-", f"[-{MINUS}]")
    text = part.text if part.compute is None else f"{part.text} {whole}"
    alone = re.search(f"{_NOT_BEFORE}{figure}{_NOT_AFTER}", text)
    return alone is not None or (part.compute is None and not re.search(figure, text))


def _repeats(table: str, ids: list[str]) -> Iterator[tuple[KeyPath, str]]:
    for i, name in enumerate(ids):
        if name in ids[:i]:
            yield (table, i, "id"), f"is the id of an earlier {table}, too; give each its own"


def _statement_contradictions(entry: StatementEntry) -> Iterator[tuple[str, str]]:
    if entry.claim is not None and entry.claim not in {part.claim for part in entry.parts}:
        yield "claim", "decides none of the parts; name the claim of one of them"
    if entry.claim is None and any(part.compute is None for part in entry.parts):
        yield "claim", "is missing; add it, for not all of its parts are computed"
    if (entry.note is None) != (entry.noted is None):
        key = "note" if entry.note is None else "noted"
        yield key, "is missing beside the other; note and noted go together: add it"
    for number in _unbound(entry):
        yield "text", f"has the number {number}, which no part of it has; {_BIND}"


def _unbound(entry: StatementEntry) -> list[str]:
    """Return the numbers of a statement's text that none of its parts has."""
    parts = [text for one in entry.parts for text in (one.text, *one.given, *_figures(one))]
    inputs = [number for one in entry.parts for number in _inputs(one)]
    return numbers_without(entry.text, (*parts, *entry.given), inputs)


def _figures(part: PartEntry) -> tuple[str, ...]:
    """Return the texts in which a part's numbers may stand besides its own: those of what decides it."""
    return (part.printed or "", part.evidence_id)


def _inputs(part: PartEntry) -> list[float]:
    """Return the numbers that its computation is given."""
    numbers = [float(number) for number in _NUMBER.findall(part.compute or "")]
    return [*numbers, *(size for size in (part.d_k, part.scores) if size is not None)]


def _part_contradictions(part: PartEntry) -> Iterator[tuple[str, str]]:
    yield from _evidence_contradictions(part)
    for number in numbers_without(part.text, (*part.given, *_figures(part)), _inputs(part)):
        yield "text", f"has the number {number}, which neither its figure nor its evidence has; {_BIND}"
    if part.compute is None:
        yield from _figure_contradictions(part)


def _evidence_contradictions(part: PartEntry) -> Iterator[tuple[str, str]]:
    """Yield what is wrong about that which decides a part: a claim's evidence, or a computation."""
    absent = [key for key in ("claim", "evidence") if getattr(part, key) is None]
    if part.compute is None:
        yield from ((key, "is missing; add it, or what to compute") for key in absent)
        extra = [key for key in ("d_k", "scores") if getattr(part, key) is not None]
        yield from ((key, "belongs to what is computed; remove it, or add compute") for key in extra)
        return
    extra = [key for key in ("claim", "evidence") if key not in absent]
    yield from ((key, "has no place beside compute; remove one of them") for key in extra)
    if part.printed is None:
        yield "printed", "is missing; add the figure that is to be what is computed"
    try:
        part.computed()
    except ValueError as error:
        yield "compute", str(error)


def _figure_contradictions(part: PartEntry) -> Iterator[tuple[str, str]]:
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
