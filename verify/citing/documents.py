"""Finds documents that quote, says what in them is no longer so, and fixes it."""

from __future__ import annotations

import glob
import os
import re
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from verify.citing.agreement import agrees, fixed
from verify.citing.exports import EXPORTED, line_text
from verify.citing.figures import gets_unit, numbers_in
from verify.citing.languages import LANGUAGES, language_of
from verify.citing.lookup import by_key, lookup_in, shortened
from verify.citing.markers import Quote, quotes_in
from verify.errors import CitationError, OutputError
from verify.evidence import RunRecord, Verdict
from verify.files.reading import MEGABYTE, Kind, head, read_text
from verify.files.writing import clear_leftovers, is_read_only, write_together

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verify.citing.languages import Language
    from verify.citing.values import Evidence, Value

_OTHERS = frozenset(["node_modules", "__pycache__", "site-packages", "_build", "build", "dist", "site"])
"""Folders of what is made or installed, which hold no documents."""


def find_documents(paths: Sequence[Path]) -> list[Path]:
    """Return the files that the paths name, each once: a folder's documents, the files of a pattern.

    Raises:
        CitationError: a pattern fits no file, or a folder holds no document.
    """
    return list(dict.fromkeys(file for path in paths for file in _files(path)))


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        found = sorted(_within(path))
        if not found:
            raise CitationError(f"{path}: holds no document that can be checked; give another")
        return found
    # Where a shell does not fill in patterns, they arrive as they are.
    if glob.has_magic(str(path)) and not path.exists():
        found = [Path(one) for one in sorted(glob.glob(str(path), recursive=True)) if Path(one).is_file()]  # noqa: PTH207 - takes absolute patterns
        if not found:
            raise CitationError(f"{path}: no file fits this pattern; correct it")
        return found
    return [path]


def _within(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name.startswith(".") or path.is_symlink():
            continue
        if path.is_dir():
            if path.name not in _OTHERS:
                yield from _within(path)
        elif path.suffix.lower() in LANGUAGES:
            yield path


class ProblemKind(StrEnum):
    """What is wrong with a quotation; the last two are warnings, which fail nothing."""

    STALE = "stale"
    UNKNOWN = "unknown-key"
    DOUBT = "no-longer-confirmed"
    MISTYPED = "mistyped-marker"
    RAW_LINE = "raw-html-line"
    MENTION = "claim-named"


_WARNINGS = frozenset([ProblemKind.RAW_LINE, ProblemKind.MENTION])


@dataclass(frozen=True, slots=True)
class Problem:
    """A quotation that is not so: where it is, what is wrong, and the text that would put it right.

    ``new`` is None where only the author can; then ``what`` says how.
    """

    path: Path
    quote: Quote
    kind: ProblemKind
    what: str
    new: str | None = None

    @property
    def fixable(self) -> bool:
        """Whether `fix` puts it right."""
        return self.new is not None

    @property
    def is_warning(self) -> bool:
        """Whether it is only said."""
        return self.kind in _WARNINGS

    def __str__(self) -> str:
        """Return one line: file, line, key, what is wrong."""
        warning = "warning: " * self.is_warning
        return f"{self.path}:{self.quote.line}: {warning}{shortened(self.quote.key)}: {self.what}"


_FORMS = "give Markdown, HTML, reStructuredText, LaTeX or another text of at most 16 MB"
_DOCUMENT = Kind(16 * MEGABYTE, CitationError, _FORMS)
_SUGGESTIONS = 10
"""The number of unknown keys for which the nearest one is looked for, which takes long."""
_RAW_LINE = (
    "a marker at the start of a line makes the line raw HTML, whose Markdown is shown as it stands; "
    "put a word of the sentence before it, on the same line"
)
_NAME = re.compile(r"(?<![\w.-])[a-z0-9]+(?:-[a-z0-9]+)+(?![\w-])")
_READINGS = 5
"""The number of attempts to change some of a document's quotations, before none is changed."""


@dataclass
class Document:
    """A document's text with its quotations, their problems, and warnings, which fail nothing."""

    path: Path
    text: str
    quotes: tuple[Quote, ...] = ()
    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

    @property
    def macros_alone(self) -> bool:
        r"""Whether it is LaTeX that quotes with ``\verify{…}``, whose figures stand in another file."""
        return self.language.macros and any(quote.quoted is None for quote in self.quotes)

    @property
    def language(self) -> Language:
        """The language that its name stands for."""
        return language_of(self.path)

    @property
    def changes(self) -> list[Problem]:
        """The problems that can be put right, in their order."""
        return [problem for problem in self.problems if problem.fixable]

    def fixed(self) -> str:
        """Return the text with every quotation that can be fixed as it should be."""
        parts, end = [], 0
        for problem in self.changes:
            parts += [self.text[end : problem.quote.start], self.language.written(problem.new or "")]
            end = problem.quote.end
        return "".join([*parts, self.text[end:]])


def check(paths: Sequence[Path], record: Evidence) -> list[Document]:
    r"""Return the documents, each once, with all that is wrong in them.

    Exported macros that a LaTeX document reads with ``\input`` or ``\include`` are checked as well.

    Raises:
        CitationError: a file cannot be read or is no text, or a marker is not closed or nested.
    """
    documents: dict[str, Document] = {}
    for path in paths:
        if os.path.realpath(path) not in documents:
            documents[os.path.realpath(path)] = _read(path)
    waiting = list(documents.values())
    while waiting:
        for part in _parts(waiting.pop()):
            if os.path.realpath(part) not in documents:
                documents[os.path.realpath(part)] = _read(part)
                waiting.append(documents[os.path.realpath(part)])
    values = _Values(record)
    for document in documents.values():
        for quote in document.quotes:
            document.problems += _problems(document, quote, values)
        _keep_what_stays_right(document, values)
        document.warnings += _warnings(document, record)
    return list(documents.values())


def fix(documents: Sequence[Document]) -> list[Path]:
    """Write the documents that change, all or none, and return their paths.

    Raises:
        OutputError: one of them is read-only or cannot be written; none is changed then.
    """
    files = {Path(os.path.realpath(one.path)): one.fixed() for one in documents if one.changes}
    for path in files:
        if is_read_only(path):
            raise OutputError(f"{path}: is read-only; allow writing, or fix it by hand")
    for folder in {Path(os.path.realpath(one.path)).parent for one in documents}:
        clear_leftovers(folder)
    try:
        write_together({path: text.encode() for path, text in files.items()})
    except OutputError as error:
        # What went wrong is said there for commands with --out; a document stays where it is.
        what, _, _ = str(error).rpartition("; ")
        raise OutputError(f"{what}; free space or allow writing in its folder, or fix it by hand") from error
    return list(files)


class _Values:
    """A run's values; what an unknown key may have meant is looked for once."""

    def __init__(self, record: Evidence) -> None:
        self._known = by_key(record)
        self._unknown: dict[str, str] = {}

    def get(self, key: str) -> Value | str:
        """Return what a key stands for, or what to say of an unknown one."""
        if key in self._unknown:
            return self._unknown[key]
        try:
            return lookup_in(self._known, key, suggest=len(self._unknown) < _SUGGESTIONS)
        except CitationError as error:
            self._unknown[key] = str(error)
            return str(error)


def _read(path: Path) -> Document:
    text = read_text(path, _DOCUMENT)
    if "\0" in text:
        raise CitationError(f"{path}: is not a text file; {_FORMS}")
    return Document(path, text, tuple(quotes_in(path, text, language_of(path))))


def _parts(document: Document) -> Iterator[Path]:
    """Yield the files that are a part of a document: included ones, and of LaTeX those of exported macros."""
    language = document.language
    if language.included is None:
        return
    shown = language.comment(document.text) if language.macros else document.text
    for name in dict.fromkeys(match["name"].strip() for match in language.included.finditer(shown)):
        path = document.path.parent / name
        if language.macros:
            yield from islice(filter(_is_exported, (path.parent / f"{path.name}.tex", path)), 1)
        elif _is_file(path):
            yield path


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _is_exported(path: Path) -> bool:
    try:
        return head(path, len(EXPORTED)) == EXPORTED.encode()
    except (OSError, ValueError):
        # What TeX cannot read either is TeX's to report.
        return False


def _problems(document: Document, quote: Quote, values: _Values) -> Iterator[Problem]:
    if quote.mistake:
        yield Problem(document.path, quote, ProblemKind.MISTYPED, quote.mistake)
        return
    value = values.get(quote.key)
    if isinstance(value, str):
        yield Problem(document.path, quote, ProblemKind.UNKNOWN, value)
        return
    if value.doubt:
        yield Problem(document.path, quote, ProblemKind.DOUBT, f"{value.doubt}; rewrite what rests on it")
    if quote.quoted is None or _says(quote, value):
        return
    new = line_text(value, quote.quoted) if quote.is_macro else fixed(quote.quoted, value, quote.after)
    if new is None:
        yield _by_hand(document, quote, value)
    else:
        message = f"printed {shortened(quote.quoted)!r}, now {shortened(new)!r}"
        yield Problem(document.path, quote, ProblemKind.STALE, message, new)


def _warnings(document: Document, record: Evidence) -> Iterator[Problem]:
    """Yield what fails nothing: raw lines, and claims named without a figure that are not confirmed.

    Only ids of several words count, for one word alone may be any.
    """
    for quote in document.quotes:
        if quote.raw_line:
            yield Problem(document.path, quote, ProblemKind.RAW_LINE, _RAW_LINE)
    seen = {quote.key.partition(":")[0].partition(".")[0] for quote in document.quotes}
    claims = record.claims if isinstance(record, RunRecord) else ()
    doubtful = {claim.id: claim.verdict for claim in claims if claim.verdict is not Verdict.CONFIRMED}
    for number, line in enumerate(document.text.splitlines() if doubtful else (), 1):
        for name in _NAME.findall(line):
            if name in doubtful and name not in seen:
                seen.add(name)
                what = f"is named here and is {doubtful[name]}; see whether the text still holds"
                yield Problem(document.path, Quote(name, number, 0, 0, None), ProblemKind.MENTION, what)


def _by_hand(document: Document, quote: Quote, value: Value) -> Problem:
    quoted = quote.quoted or ""
    others = ", with other figures moved outside the markers" * (
        len(numbers_in(quoted)) > len(value.figures) > 0
    )
    message = (
        f"printed {shortened(quoted)!r}; cannot be fixed by itself{_unclear(quoted, value, quote.after)}; "
        f"write {shortened(value.text)!r} by hand{others}"
    )
    return Problem(document.path, quote, ProblemKind.STALE, message)


def _unclear(quoted: str, value: Value, after: str) -> str:
    """Return what may be a unit of the figure, and stands in the way of another figure."""
    doubts = [one.doubt for one in numbers_in(quoted, after) if one.doubt and value.figures]
    if gets_unit(value.text, after):
        doubts = after.split()[:1]
    return f": the {shortened(doubts[0])!r} after it may be a unit" if doubts else ""


def _says(quote: Quote, value: Value) -> bool:
    quoted = quote.quoted or ""
    return quoted == line_text(value, quoted) if quote.is_macro else agrees(quoted, value, quote.after)


def _keep_what_stays_right(document: Document, values: _Values) -> None:
    """Leave to the author what would not be right when the changed document is read again."""
    for attempt in range(_READINGS):
        wrong = _wrong_again(document, values) if attempt < _READINGS - 1 else document.changes
        if not wrong:
            return
        left = {problem.quote for problem in wrong}
        for place, problem in enumerate(document.problems):
            value = values.get(problem.quote.key)
            if problem.new is not None and problem.quote in left and not isinstance(value, str):
                document.problems[place] = _by_hand(document, problem.quote, value)


def _wrong_again(document: Document, values: _Values) -> list[Problem]:
    """Return the changes after which the document no longer says what it should."""
    changes = document.changes
    if not changes:
        return []
    try:
        again = quotes_in(document.path, document.fixed(), document.language)
    except CitationError:
        return changes
    if [quote.key for quote in again] != [quote.key for quote in document.quotes]:
        return changes
    changed = {problem.quote for problem in changes}
    wrong: set[Quote] = set()
    for place, (before, now) in enumerate(zip(document.quotes, again, strict=True)):
        if not _is_right(now, values) and (before in changed or _is_right(before, values)):
            # What follows a quotation may be read with it.
            wrong |= set(document.quotes[place : place + 2])
    return [problem for problem in changes if problem.quote in wrong] or changes * bool(wrong)


def _is_right(quote: Quote, values: _Values) -> bool:
    value = values.get(quote.key)
    return isinstance(value, str) or quote.quoted is None or _says(quote, value)
