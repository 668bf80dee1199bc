"""Finds documents that quote, says what in them is stale, and writes what the tool may write.

A quotation with a form, ``KEY|form``, is the tool's: compared to the letter, and written again where it is
stale and nothing else stands between the markers. One with the key alone is its author's: each number is
compared with the value, and none is written. An exported file is a quotation as a whole.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from itertools import islice
from os.path import isfile
from pathlib import Path

from verify.citing.exports import HEAD_SIZE, SUFFIXES, has_own_lines, is_exported, present_export
from verify.citing.forms import written
from verify.citing.languages import LANGUAGES, MARKDOWN, MDX, RST, Language, language_of
from verify.citing.lookup import by_key, lookup_in, shortened
from verify.citing.markers import Quote, outside, quotes_in
from verify.citing.quotations import (
    Number,
    fault_of,
    fitting,
    is_of,
    numbers_in,
    replaceable,
    same,
)
from verify.citing.values import Evidence, Value
from verify.errors import CitationError, OutputError
from verify.evidence import RunRecord, Verdict
from verify.files.reading import MEGABYTE, InputKind, head, read_text
from verify.files.writing import is_read_only, write_together

_MADE = frozenset(["node_modules", "__pycache__", "site-packages", "_build", "build", "dist", "site"])
"""Folders of what is made or installed, which hold no documents."""


def find_documents(paths: Sequence[Path]) -> list[Path]:
    """Return the files that the paths name, each once: a folder's documents, the files of a pattern.

    Raises:
        CitationError: a pattern fits no file, or a folder holds no document.
    """
    files: list[Path] = []
    for path in paths:
        # Where a shell does not fill in patterns, they arrive as they are.
        if path.is_dir():
            found = sorted(_within(path))
            problem = "holds no document that can be checked; give another"
        elif glob.has_magic(str(path)) and not path.exists():
            names = sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207 - takes absolute patterns
            found = [Path(name) for name in names if Path(name).is_file()]
            problem = "no file fits this pattern; correct it"
        else:
            found, problem = [path], ""
        if not found:
            raise CitationError(f"{path}: {problem}")
        files += found
    return list(dict.fromkeys(files))


def _within(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name.startswith(".") or path.is_symlink():
            continue
        if path.is_dir():
            if path.name not in _MADE:
                yield from _within(path)
        elif path.is_file() and (path.suffix.lower() in LANGUAGES or _is_export(path)):
            yield path


def _is_export(path: Path) -> bool:
    if path.suffix.lower() not in SUFFIXES:
        return False
    try:
        return is_exported(path, head(path, HEAD_SIZE).decode(errors="replace"))
    except (OSError, ValueError):
        # What TeX cannot read either is TeX's to report.
        return False


class ProblemKind(StrEnum):
    """What is wrong with a quotation; the last two are warnings, which fail nothing."""

    STALE = "stale"
    UNSUPPORTED = "unsupported-text"
    OUTSIDE = "number-outside-markers"
    UNKNOWN = "unknown-key"
    FORM = "unsuitable-form"
    DOUBT = "no-longer-confirmed"
    BAR = "unescaped-bar"
    RAW_LINE = "raw-html-line"
    MENTION = "claim-named"


_WARNINGS = frozenset([ProblemKind.RAW_LINE, ProblemKind.MENTION])


@dataclass(frozen=True, slots=True)
class Problem:
    """A quotation that is not current: where it is, what is wrong, and the text that would put it right.

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
        """Whether it fails nothing."""
        return self.kind in _WARNINGS

    def __str__(self) -> str:
        """Return one line: file, line, key, what is wrong."""
        warning = "warning: " * self.is_warning
        return f"{self.path}:{self.quote.line}: {warning}{shortened(self.quote.key)}: {self.what}"


_WANTED = "give Markdown, HTML, reStructuredText, LaTeX or another text of at most 16 MB"
_DOCUMENT = InputKind(16 * MEGABYTE, CitationError, _WANTED)
_SUGGESTIONS = 10  # the number of unknown keys for which the nearest one is looked for, which takes long
_RAW_LINE = (
    "a marker at the start of a line makes the line raw HTML, whose Markdown is shown as it stands; "
    "put a word of the sentence before it, on the same line"
)
_BAR = r"in a table of Markdown, this | ends the cell; write \| before the form"
_NAME = re.compile(r"(?<![\w.-])[a-z0-9]+(?:-[a-z0-9]+)+(?![\w-])")
_DELIMITERS = re.compile(r"^[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")


@dataclass
class Document:
    """A document's text with its quotations, their problems, and warnings, which fail nothing."""

    path: Path
    text: str
    quotes: tuple[Quote, ...] = ()
    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

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
        for change in sorted(self.changes, key=lambda problem: problem.quote.start):
            parts += [self.text[end : change.quote.start], self.language.written(change.new or "")]
            end = change.quote.end
        return "".join([*parts, self.text[end:]])


def check(paths: Iterable[Path], record: Evidence, *, strict: bool = False) -> list[Document]:
    r"""Return the documents, each once, with all that is wrong in them.

    What a document includes, and exported files and badges that it names, are checked as well. With
    ``strict``, numbers outside markers that should be quoted are wrong, too.

    Raises:
        CitationError: a file cannot be read or is no text, or a marker is not closed or nested.
    """
    values = _LookedUp(record)
    documents: dict[str, Document] = {}
    waiting = list(paths)
    while waiting:
        path = waiting.pop(0)
        if os.path.realpath(path) not in documents:
            text = read_text(path, _DOCUMENT)
            if "\0" in text:
                raise CitationError(f"{path}: is not a text file; {_WANTED}")
            document = documents[os.path.realpath(path)] = Document(path, text)
            if is_exported(path, text):
                document.problems += _export_problems(document, record)
            else:
                document.quotes = tuple(quotes_in(path, text, document.language, values.known))
                waiting += _parts(document)
                _find_problems(document, values, record, strict=strict)
    return list(documents.values())


def _find_problems(document: Document, values: _LookedUp, record: Evidence, *, strict: bool) -> None:
    for quote in document.quotes:
        document.problems += _problems(document, quote, values)
    if strict:
        document.problems += [
            Problem(document.path, Quote(key, line, 0, 0, None), ProblemKind.OUTSIDE, what)
            for line, key, what in numbers_outside(document.path, document.text, values.known)
        ]
    document.warnings += _warnings(document, record)


def _export_problems(document: Document, record: Evidence) -> Iterator[Problem]:
    """Yield that an exported file or a badge is not what these results write, if so."""
    export = present_export(document.path, document.text, record)
    quote = Quote(export.what, 1, 0, len(document.text), document.text)
    document.quotes = (quote,)
    if export.new != document.text:
        of = f" (digest {export.digest[:12]})" if export.digest else ""
        what = f"is of other results{of}, or was changed by hand"
        if has_own_lines(document.text, export.new):
            what = f"{what}, with lines that are not written again: export it to another file"
            yield Problem(document.path, quote, ProblemKind.STALE, what)
        else:
            yield Problem(document.path, quote, ProblemKind.STALE, what, export.new)


_FILE = re.compile(rf"(?<![\w./-])[\w./-]{{1,250}}(?:{'|'.join(map(re.escape, sorted(SUFFIXES)))})(?![\w.])")


def _parts(document: Document) -> Iterator[Path]:
    """Yield the files that are a part of a document: included ones, and exported ones that it names."""
    language, folder = document.language, document.path.parent
    text = language.comment(document.text)
    names = [match["name"].strip() for match in language.included.finditer(text)] if language.included else []
    # TeX adds the ending by itself, and includes much that is no document of ours.
    is_tex = document.path.suffix in {".tex", ".ltx"}
    for name in dict.fromkeys(names):
        places = (folder / f"{name}.tex", folder / name)
        # Path.is_file would raise for a name that is too long.
        present = (place for place in places if _is_export(place) or (not is_tex and isfile(place)))  # noqa: PTH113
        yield from islice(present, 1)
    for name in dict.fromkeys(_FILE.findall(text)):
        if name not in names and not name.startswith("/") and _is_export(folder / name):
            yield folder / name
    if document.path.suffix.lower() == ".qmd" and "{{< var " in text:
        folders = (folder, *document.path.resolve().parents[1:])
        yield from islice(filter(_is_export, (place / "_variables.yml" for place in folders)), 1)


def fix(documents: Sequence[Document]) -> list[Path]:
    """Write the documents that change, all or none, and return their paths.

    Raises:
        OutputError: one of them is read-only or cannot be written; none is changed then.
    """
    files = {
        Path(os.path.realpath(document.path)): document.fixed() for document in documents if document.changes
    }
    for path in files:
        if is_read_only(path):
            raise OutputError(f"{path}: is read-only; allow writing, or fix it by hand")
    try:
        write_together({path: text.encode() for path, text in files.items()})
    except OutputError as error:
        # The advice there is for commands with --out; a document stays where it is.
        what, _, _ = str(error).rpartition("; ")
        raise OutputError(f"{what}; free space or allow writing in its folder, or fix it by hand") from error
    return list(files)


class _LookedUp:
    """A run's values; what an unknown key may have meant is looked for once."""

    def __init__(self, record: Evidence) -> None:
        self.known = by_key(record)
        self._unknown: dict[str, str] = {}

    def get(self, key: str) -> Value | str:
        """Return what a key stands for, or what to say of an unknown one."""
        if key not in self._unknown:
            try:
                return lookup_in(self.known, key, suggest=len(self._unknown) < _SUGGESTIONS)
            except CitationError as error:
                self._unknown[key] = str(error)
        return self._unknown[key]


def _problems(document: Document, quote: Quote, values: _LookedUp) -> Iterator[Problem]:
    key, bar, form = (part.strip() for part in quote.key.partition("|"))
    value = values.get(quote.key)
    if isinstance(value, str):
        kind = ProblemKind.FORM if key in values.known else ProblemKind.UNKNOWN
        yield Problem(document.path, quote, kind, value)
        return
    if value.doubt:
        doubt = f"{value.doubt}; rewrite what rests on it"
        yield Problem(document.path, quote, ProblemKind.DOUBT, doubt)
    if bar and document.language in {MARKDOWN, MDX}:
        yield from _bare_bar(document, quote)
    if quote.quoted is None:
        return
    text, known, markup = quote.quoted, values.known, quote.language.markup
    if bar:
        new = written(known, key, form, markup.written)
        if not same(text, new):
            yield _stale(document, quote, new, may_write=replaceable(known, key, form, text, markup))
    elif fault := fault_of(known, value.key, text):
        forms = fitting(known, value.key, text, markup)
        choice = " or ".join(f"{_with_bar(document, quote, name)} for '{now}'" for name, now in forms)
        what = f"'{shortened(text)}' {fault}; to have it written: {choice}"
        yield Problem(document.path, quote, ProblemKind.UNSUPPORTED, what)


def _stale(document: Document, quote: Quote, new: str, *, may_write: bool) -> Problem:
    """Return that a text is not what its form writes, and what to do where it is not written again."""
    what = f"printed '{shortened(quote.quoted)}'" if quote.quoted else "is empty"
    what = f"{what}, now '{shortened(new)}'"
    if not quote.quoted and quote.is_output:
        return Problem(document.path, quote, ProblemKind.STALE, f"{what}; put what it prints below it")
    if not quote.quoted:
        # Between markers that are lines of their own, a text is one, too; a paragraph in reStructuredText.
        gap = "\n\n" if document.language is RST else "\n"
        before = document.text[max(0, quote.start - 2) : quote.start]
        after = document.text[quote.end : quote.end + 2]
        if before.endswith("\n"):
            new = ("" if before.endswith(gap) else "\n") + new
            new += gap[len(after) - len(after.lstrip("\n")) :]
    if quote.is_code and not quote.is_output:
        what, may_write = f"{what}; code is compared and never written: correct it by hand", False
    elif not may_write:
        what += "; not written: more stands there; put the markers around that text alone, or leave nothing"
    return Problem(document.path, quote, ProblemKind.STALE, what, new if may_write else None)


def _with_bar(document: Document, quote: Quote, key: str) -> str:
    """Return a key with its form; beside other bars, as in a table, its own has a backslash."""
    text = document.text
    line = text[text.rfind("\n", 0, quote.key_end) + 1 :].partition("\n")[0]
    return key.replace("|", r"\|") if re.search(r"(?<![\\\w])\||\|$", line) else key


def _bare_bar(document: Document, quote: Quote) -> Iterator[Problem]:
    """Yield that the bar of a form ends a cell, where it stands in a table without a backslash."""
    text = document.text
    end = quote.key_end or quote.end  # of a role without a text
    place = text.find("|", text.rfind("verify", 0, end), end)
    if place < 0 or text[place - 1] == "\\" or quote.is_output:
        return
    start = text.rfind("\n\n", 0, place) + 1
    block = text[start:].lstrip("\n").partition("\n\n")[0].splitlines()
    if any("|" in line and _DELIMITERS.match(line) for line in block):
        bar = Quote(quote.key, quote.line, place, place + 1, "|")
        yield Problem(document.path, bar, ProblemKind.BAR, _BAR, r"\|")


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


_PARAGRAPH = re.compile(r"(?:[^\n]*\S[^\n]*(?:\n|\Z))+")
_MEASURED = (":estimate", ":low", ":high", ":halfwidth", ":value")
_SIGNIFICANT = 3
_MOST_UNITS_OFF = 10  # units of the last printed digit


def numbers_outside(path: Path, text: str, known: Mapping[str, Value]) -> Iterator[tuple[int, str, str]]:
    """Yield line, key and what to do of each number that a claim named in the same paragraph speaks of.

    Only numbers with a decimal point and three significant digits count. Such a number is to be quoted if it
    is an estimate, an end of an interval or a computed value of a claim that the paragraph names or quotes;
    it contradicts the claim if it is none, but differs from one by less than ten units of its last digit.
    """
    heads: dict[str, list[Value]] = {}
    for key, value in known.items():
        if key.endswith(_MEASURED) and value.figures and value.figures[0].rounding != "fixed":
            heads.setdefault(key.partition(".")[0], []).append(value)
    if not heads:
        return
    name = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, heads))})(?![\w-])")
    for passage, prose in outside(path, text, language_of(path)):
        for paragraph in _PARAGRAPH.finditer(passage.text):
            named = dict.fromkeys(name.findall(paragraph[0]))
            values = [value for head in named for value in heads[head]]
            for number in numbers_in(prose[slice(*paragraph.span())]) if named else ():
                at, _ = passage.place(paragraph.start() + number.start, paragraph.start() + number.end)
                if found := _unquoted(number, values):
                    yield text.count("\n", 0, at) + 1, *found


def _unquoted(number: Number, values: Collection[Value]) -> tuple[str, str] | None:
    digits = abs(number.value).scaleb(-number.place)
    if number.place >= 0 or digits < 10 ** (_SIGNIFICANT - 1):
        return None
    printed = f"{number.value:f}"
    for value in values:
        if is_of(number, value.figures[0]):
            return value.key, f"{printed} stands outside markers; quote it"
    step = Decimal(1).scaleb(number.place)
    distances = [(abs(value.figures[0].exact - number.value), place) for place, value in enumerate(values)]
    distance, place = min(distances)
    if distance >= _MOST_UNITS_OFF * step:
        return None
    value = [*values][place]
    return (
        value.key,
        f"{printed} stands outside markers and is not {shortened(value.text)}; correct or quote it",
    )
