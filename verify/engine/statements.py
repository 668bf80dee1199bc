"""The statements of documents: read from ``sources.toml``, and decided by the evidence of a run."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import AfterValidator, ConfigDict, Field, StrictBool, ValidationError, model_validator
from sympy import N

from verify.errors import ClaimError, SourcesError, unknown
from verify.evidence import ClaimRecord, Outcome, Part, Proof, Record, Slug, SourceRecord, Statement, Verdict
from verify.evidence.texts import prose
from verify.files import MEGABYTE, InputKind, read_text, shipped_folder
from verify.symbolic.calculus import expected
from verify.symbolic.grammar import parse_value
from verify.symbolic.vocabulary import NORMAL_COMPONENTS, STANDARD, Cov, E, Quantile, Var, d
from verify.text.escapes import one_line
from verify.text.numbers import as_printed, is_figure, rounds_to

_SOURCES = InputKind(
    MEGABYTE, SourcesError, "give a TOML file in UTF-8 of at most 1 MB, or the name of a pack", dash=True
)
_PROBLEMS = {"missing": "is missing; add it", "extra_forbidden": "is no key that is known; correct it"}


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
    ``d_k``, which may be printed or said.
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

    @property
    def judge(self) -> tuple[str, str]:
        """What decides it: "verdict", "check", "control" or "fact" with its id, or "computed"."""
        kind, _, name = (self.evidence or "computed").partition(":")
        return kind, name

    @model_validator(mode="after")
    def _is_decided(self) -> Self:
        (by, _), prints = self.judge, self.kind == "prints"
        is_compared = by == "computed" or (prints and by in {"fact", "check"})
        given = [self.claim is not None, self.evidence is not None, self.compute is None]
        refuse(
            (any(given) != all(given), "give claim and evidence, or compute and neither of them"),
            (bool(self.d_k) and by != "computed", "d_k belongs to what is computed: add compute"),
            (not prints and by == "fact", 'a fact is a figure, and decides only what has kind "prints"'),
            (prints and by == "verdict", 'what has kind "prints" is decided by a fact, check or control'),
            (is_compared and self.printed is None, "printed is missing: add the figure as printed"),
            (self.printed is not None and not is_compared, "printed needs a fact or check to compare with"),
        )
        if self.compute is not None:
            # Its mistakes show where it is computed, and are remembered with what was.
            compute(self.compute, self.d_k)
        return self


class StatementEntry(Record):
    """A statement as the file has it; ``claim`` is the claim that mainly decides it, if any does.

    ``note`` was written for the outcome ``noted``; a run that decides otherwise, or has no note to repeat,
    gives its own reasons.
    """

    id: Slug
    source: str
    text: Prose
    claim: Slug | None = None
    note: Prose | None = None
    noted: Outcome | None = None
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
            is_said = part.compute is None or str(part.printed) in f"{part.text} {self.text}"
            refuse((not is_said, f"its text does not have the number {part.printed}, which is printed"))
        return self


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
        for entry in self.statements:
            for number, part in enumerate(entry.parts, 1):
                if part.claim is not None and part.claim not in known:
                    what = unknown("claim", part.claim, known, "`sdpa-verify list` shows them all")
                    raise SourcesError(f"{self.file}statement {entry.id}, part {number}: there is {what}")


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


# --- outcomes ---

_ABOUT = ", which is about {}: less than one unit of its last digit away"


def decide(book: SourceBook, claims: Sequence[ClaimRecord]) -> tuple[Statement, ...]:
    """Return every statement of ``book`` with the outcome that the evidence of ``claims`` gives it.

    A part is open (``holds`` is None) when its claim is not among ``claims``, the claim's derivation
    failed, or its evidence is undecided. The verdict ``approximate`` means that the exact assertion is
    excluded though the measurement is within tolerance; it satisfies a part only where the source says
    "about", and elsewhere limits the outcome to ``holds-with-conditions``. A figure that the source says is
    "about" may be off by less than one unit of its last digit. While a statement is open its note names the
    evidence it waits for, and where the outcome is not that which the note was written for, the parts'
    reasons stand in its place.

    Raises:
        SourcesError: a part names a check, control or fact that its claim does not have.
    """
    by_id, statements = {claim.id: claim for claim in claims}, []
    for entry in book.statements:
        parts = []
        for number, part in enumerate(entry.parts, 1):
            try:
                parts.append(_decided(part, by_id.get(part.claim or "")))
            except SourcesError as error:
                raise SourcesError(f"{book.file}statement {entry.id}, part {number}: {error}") from None
        same = entry.model_dump(include={"id", "source", "text", "claim", "noted"})
        statement = Statement(**same, note=entry.note or "", parts=tuple(parts))
        # A note stands beside the outcome that it was written for, and beside no other.
        note = statement.note
        if statement.outcome is Outcome.OPEN:
            awaited = dict.fromkeys(part.claim for part in parts if part.holds is None)
            note = f"Still open: it waits for evidence from {', '.join(awaited)}."
        elif not note or statement.outcome is not entry.noted:
            note = " ".join(part.reason for part in parts)
        statements.append(statement.model_copy(update={"note": note}))
    return tuple(statements)


def _decided(part: PartEntry, claim: ClaimRecord | None) -> Part:
    """Return a part as it is decided by what it has computed, or by its claim's evidence."""
    by, printed = part.claim or "", part.printed or ""
    decided: dict[str, Any] = {"computed": None, "exactly": True}
    if part.compute is None:
        decided |= _by_evidence(part, claim)
    else:
        # A printed figure is compared with the computed value to its own digits.
        computed = compute(part.compute, part.d_k)
        by, shown = computed.claim, as_printed(computed.value, printed)
        holds = rounds_to(computed.value, printed, about=part.about)
        against = "" if shown == printed else _ABOUT.format(printed) if holds else f", not {printed}"
        decided |= {"holds": holds, "reason": f"{computed.words} is {shown}{against}.", "computed": shown}
    evidence = part.evidence or "computed"
    return Part(text=part.text, claim=by, kind=part.kind, printed=part.printed, evidence=evidence, **decided)


def _by_evidence(part: PartEntry, claim: ClaimRecord | None) -> dict[str, Any]:
    """Return whether a part holds by its claim's evidence, why, and the figure that it predicts, if any."""
    # A failed derivation ends its claim before there is any evidence.
    if claim is None or claim.derivation.status is Proof.FAILED:
        lacking = f"{part.claim}, which would decide it, is not in this run."
        return _open(f"the derivation of {claim.id} failed, so there is no evidence." if claim else lacking)
    kind, name = part.judge
    subject, evidence = f"the claim {claim.id}", dict[str, Any]({"": claim})
    if name:
        subject = f"the {'negative ' * (kind == 'control')}{kind} {name} of {claim.id}"
        evidence = {finding.id: finding for finding in getattr(claim, f"{kind}s")}
    if name not in evidence:
        raise SourcesError(f"the claim {claim.id} has {unknown(kind, name, evidence, 'correct it')}")
    # A fact is exact: there is nothing to measure.
    verdict = Verdict.CONFIRMED if kind == "fact" else evidence[name].verdict
    if verdict is Verdict.UNDECIDED:
        return _open(f"{subject} is undecided.")
    if part.printed is not None:
        if verdict is Verdict.REFUTED:
            return _open(f"measurement refutes the prediction of {part.claim}, no figure is settled.")
        figure = evidence[name].value if kind == "fact" else evidence[name].prediction
        computed, holds = as_printed(figure, part.printed), rounds_to(figure, part.printed, about=part.about)
        reason = f"The computed value rounds to the printed {part.printed}."
        if computed != part.printed:
            against = (_ABOUT if holds else ", not to the printed {}").format(part.printed)
            reason = f"The computed value rounds to {computed}{against}."
        exactly = part.about or verdict is not Verdict.APPROXIMATE
        return {"holds": holds, "reason": reason, "computed": computed, "exactly": exactly}
    if verdict is Verdict.APPROXIMATE:
        but = ("holds, but not exactly", "holds; the source says no more than that")[part.about]
        return {"holds": True, "reason": f"Within the tolerance, {subject} {but}.", "exactly": part.about}
    return {"holds": verdict is Verdict.CONFIRMED, "reason": f"By this run, {subject} is {verdict}."}


def _open(reason: str) -> dict[str, Any]:
    return {"holds": None, "reason": f"Open: {reason}"}
