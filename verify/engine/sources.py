"""Reads the statements of the source documents, ``sources.toml``; a line says where a mistake is."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import AfterValidator, ConfigDict, Field, StrictBool, ValidationError, model_validator
from sympy import N

from verify.errors import ClaimError, SourcesError, unknown
from verify.evidence import Outcome, Record, Slug, SourceRecord
from verify.evidence.texts import prose
from verify.files.names import shipped_folder
from verify.files.reading import MEGABYTE, InputKind, read_text
from verify.symbolic.calculus import expected
from verify.symbolic.grammar import parse_value
from verify.symbolic.vocabulary import NORMAL_COMPONENTS, STANDARD, Cov, E, Quantile, Var, d
from verify.text.escapes import one_line
from verify.text.numbers import MINUS, as_decimal, is_figure

_SOURCES = InputKind(
    MEGABYTE, SourcesError, "give a TOML file in UTF-8 of at most 1 MB, or the name of a pack", dash=True
)
_PROBLEMS = {"missing": "is missing; add it", "extra_forbidden": "is no key that is known; correct it"}

# An exponent and an index are a part of their formula.
_NUMBER = re.compile(r"(?<![A-Za-z_0-9.^])(?<![\^_]\{)(?:(?<![\w)\]}])[−-])?\d+(?:\.\d+)?%?")
_ANY_NUMBER = re.compile(r"\d+(?:\.\d+)?")


# --- computations ---

_DIGITS = 30


class Computed(NamedTuple):
    """A number, in words, and the claim whose derivation it needs."""

    value: float
    words: str
    claim: str


@cache
def compute(text: str, dimension: int | None = None) -> Computed:
    """Return the value of an expression, such as ``Var(q·k/sqrt(d_k))`` or ``softmax([2, 1], 1)``.

    Args:
        text: The expression; its components have mean 0 and variance 1, or are normal where that matters.
        dimension: The value of d_k.

    Raises:
        ValueError: it cannot be read or computed; the text says what to correct, in one line.
    """
    try:
        expression = derived = parse_value(text)
        if is_mean := expression.has(E, Var, Cov, Quantile):
            # By the first two moments alone, else by those of normal components.
            try:
                derived = expected(expression, STANDARD)
            except ClaimError:
                derived = expected(expression, NORMAL_COMPONENTS)
    except ClaimError as error:
        raise ValueError(f"has a mistake: {str(error).splitlines()[0]}; correct it") from error
    if d in derived.free_symbols and dimension is None:
        raise ValueError("needs a dimension; add d_k = 64, or whatever it is")
    at = derived if dimension is None else derived.subs(d, dimension)
    if at.free_symbols:
        unknown = ", ".join(map(str, at.free_symbols))
        raise ValueError(f"has {unknown}, which has no value; put a number there")
    # By SymPy, in more digits than a float has: what is printed may lie just beside a tie.
    value = N(at, _DIGITS)
    if not value.is_real or not math.isfinite(float(value)):
        raise ValueError("is no finite number; correct it")
    words = text if dimension is None else f"{text} at d_k = {dimension}"
    # The claim goes by the words: whoever follows its link reads how such a value is derived.
    claim = "softmax-saturation" if "softmax" in text else "worked-dot-products"
    if "entropy" in text or "H(" in text:
        claim = "attention-entropy"
    return Computed(float(value), words, "score-variance" if is_mean else claim)


# --- the file ---


def refuse(*mistakes: tuple[bool, str]) -> None:
    """Raise a ValueError with the text of the first of the pairs (condition, text) that is true."""
    for is_wrong, what in mistakes:
        if is_wrong:
            raise ValueError(what)


def _prose(text: str) -> str:
    """Return a text in one line, whatever its lines in the file."""
    refuse(
        (not text.strip(), "must not be empty; write what it should say"),
        (text.count("$") % 2 == 1, "has a dollar sign without its partner; put LaTeX between two"),
    )
    return prose(" ".join(text.split()))


def _figure(text: str) -> str:
    refuse((not is_figure(text), 'is not a decimal number; write it as in "0.880" or "26.89%"'))
    return text


Prose = Annotated[str, AfterValidator(_prose)]


class PartEntry(Record):
    """A part of a statement; ``about`` when the source itself says "about".

    ``kind`` "prints" is for things on the page: a figure, a formula, a line of code, an axis. Either
    the ``evidence`` of a ``claim`` decides it, or the expression that it has computed, at a dimension
    ``d_k``, which may be printed or said. ``given`` are the numbers of its text that nothing decides.
    """

    text: Prose
    claim: Slug | None = None
    evidence: Annotated[
        str | None, Field(pattern=r"^(verdict|(check|control|fact):[a-z0-9]+(-[a-z0-9]+)*)$")
    ] = None
    compute: str | None = None
    d_k: Annotated[int, Field(strict=True, ge=1, le=10**9)] | None = None
    kind: Literal["says", "prints"]
    printed: Annotated[str, AfterValidator(_figure)] | None = None
    about: StrictBool = False
    given: tuple[str, ...] = ()

    @property
    def evidence_kind(self) -> str:
        """The judge of this part: ``"verdict"``, ``"check"``, ``"control"``, ``"fact"`` or ``"computed"``."""
        return "computed" if self.compute is not None else (self.evidence or "").partition(":")[0]

    @property
    def evidence_id(self) -> str:
        """The id of the check, control or fact; empty for a verdict, and for a computation."""
        return (self.evidence or "").partition(":")[2]

    @model_validator(mode="after")
    def _is_decided(self) -> Self:
        by, prints = self.evidence_kind, self.kind == "prints"
        has_figure, is_printed = prints and by in {"fact", "check"}, self.printed is not None
        if self.compute is None:
            refuse(
                (not (self.claim and self.evidence), "claim or evidence is missing: add both, or compute"),
                (bool(self.d_k), "d_k belongs to what is computed: add compute"),
                (not prints and by == "fact", 'a fact is a figure, and decides only what has kind "prints"'),
                (prints and by == "verdict", 'what has kind "prints" is decided by a fact, check or control'),
                (has_figure and not is_printed, "printed is missing: add the figure as printed"),
                (is_printed and not has_figure, "printed needs a fact or check to compare with"),
            )
        else:
            refuse(
                (bool(self.claim or self.evidence), "claim and evidence have no place beside compute"),
                (not is_printed, "printed is missing: add the figure that is to be what is computed"),
            )
            # Its mistakes show where it is computed, and are remembered with what was.
            compute(self.compute, self.d_k)
        _bind(self.text, (*self.given, *self.figures), self.inputs)
        return self

    @property
    def figures(self) -> tuple[str, str]:
        """Texts whose numbers its evidence decides."""
        return self.printed or "", self.evidence_id

    @property
    def inputs(self) -> set[Decimal]:
        """The numbers that are given to its computation; of 1.50 TOML keeps no last zero."""
        numbers = {Decimal(number) for number in _numbers(self.compute or "")}
        return numbers if self.d_k is None else numbers | {as_decimal(self.d_k)}


class StatementEntry(Record):
    """A statement as the file has it; ``claim`` is the claim that mainly decides it, if any does.

    ``note`` was written for the outcome ``noted``; a run that decides otherwise, or has no note to repeat,
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

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        claims = {part.claim for part in self.parts} or {""}
        refuse(
            (self.claim not in claims, "claim is none of those that decide its parts"),
            ((self.note is None) != (self.noted is None), "note and noted go together: one is missing"),
        )
        for part in self.parts:
            # A number that a claim decides need not be in the text.
            is_said = part.compute is None or part.printed in _numbers(f"{part.text} {self.text}")
            refuse((not is_said, f"its text does not have the number {part.printed}, which is printed"))
        others = [text for part in self.parts for text in (part.text, *part.given, *part.figures)]
        _bind(self.text, (*self.given, *others), set().union(*(part.inputs for part in self.parts)))
        return self


def _numbers(text: str) -> list[str]:
    """Return the numbers of a text, a minus sign before them as a hyphen."""
    return [number.replace(MINUS, "-") for number in _NUMBER.findall(text)]


def _bind(text: str, others: Iterable[str], inputs: Collection[Decimal]) -> None:
    """Refuse a text with a number that neither other texts nor inputs have; 0 and 1 are limits, and free."""
    known = {"0", "1"}
    for other in others:
        known |= {*_ANY_NUMBER.findall(other), *_numbers(other)}
    for number in _numbers(text):
        is_input = number[-1] != "%" and Decimal(number) in inputs
        what = f"its text has the number {number}, which nothing decides; correct it, compute it, or list it"
        refuse((number not in known and not is_input, f"{what} under given"))


class SourceBook(Record):
    """The source documents and their statements, in the order of the file.

    ``file`` is its name for messages, ``pack`` the name under which it ships, None for the default book and
    for a file of the user's own, which ``is_own`` says; what a file says of these is not heeded.
    """

    # The file's tables are called by their singular names and by no others.
    model_config = ConfigDict(populate_by_name=False)

    sources: tuple[SourceRecord, ...] = Field(alias="source", default=())
    statements: tuple[StatementEntry, ...] = Field(alias="statement", default=())
    file: str = ""
    pack: str | None = None
    is_own: bool = False

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        documents = [source.id for source in self.sources]
        ids = [entry.id for entry in self.statements]
        for table, names in (("source", documents), ("statement", ids)):
            twice = next((name for name in names if names.count(name) > 1), "")
            refuse((bool(twice), f"two {table}s have the id {twice}; give each its own"))
        for entry in self.statements:
            missing = f"statement {entry.id} is of the source {entry.source}; add a [[source]] of this id"
            refuse((entry.source not in documents, missing))
        return self

    @property
    def claims(self) -> tuple[str, ...]:
        """The ids of the claims that decide something in it; computed parts need none."""
        ids = (part.claim for entry in self.statements for part in entry.parts)
        return tuple(dict.fromkeys(claim for claim in ids if claim is not None))

    def refuse_unknown_claims(self, known: Collection[str]) -> None:
        """Refuse a book in which a part is decided by a claim that does not exist.

        Raises:
            SourcesError: a claim's id is not among those ``known``.
        """
        for place, part in self.parts():
            if part.claim is not None and part.claim not in known:
                what = unknown("claim", part.claim, known, "`sdpa-verify list` shows them all")
                raise SourcesError(f"{place}: there is {what}")

    def parts(self) -> Iterator[tuple[str, PartEntry]]:
        """Yield all parts, each with where it stands."""
        for entry in self.statements:
            for number, part in enumerate(entry.parts, 1):
                yield f"{self.file}statement {entry.id}, part {number}", part


def packs() -> dict[str, Path]:
    """Return the files of statements that ship with the tool besides the default file, by their names."""
    return {path.stem: path for path in sorted((shipped_folder("data") / "packs").glob("*.toml"))}


def read_sources(path: Path | None = None) -> SourceBook:
    """Return the sources and statements of a file, of the pack so named, or by default of the shipped file.

    A file of that name goes before a pack.

    Raises:
        SourcesError: the file cannot be read, has over 1 MB or is malformed; the text says where and how.
    """
    given, pack = path, None if path is None or path.exists() else packs().get(str(path))
    path = pack or path or shipped_folder("data") / "sources.toml"
    try:
        data: Any = tomllib.loads(read_text(path, _SOURCES))
        book = SourceBook.model_validate(data)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SourcesError(f"{path}: is not TOML: {one_line(str(error))}; correct it there") from error
    except ValidationError as error:
        # A misspelt key is both unknown and missing: the key that stands there says more.
        first = min(error.errors(), key=lambda mistake: mistake["type"] == "missing")
        problem = _PROBLEMS.get(first["type"], first["msg"].removeprefix("Value error, "))
        # The keys that lead there in words, such as "statement v4, part 2, claim".
        words: list[str] = []
        for step in first["loc"]:
            if isinstance(step, int):
                data = data[step]
                words[-1] += f" {data.get('id', step + 1) if isinstance(data, dict) else step + 1}"
            else:
                data = data.get(step) if isinstance(data, dict) else None
                words.append(step)
        where = ", ".join(words)
        raise SourcesError(one_line(f"{path}: {where}{': ' if where else ''}{problem}")) from error
    known = {"file": f"{path}: ", "pack": pack and pack.stem, "is_own": given is not None and pack is None}
    return book.model_copy(update=known)
