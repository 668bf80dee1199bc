"""Finds documents that quote, says what in them is no longer so, and writes what the tool may write.

A quotation with a form, ``KEY|form``, is the tool's: compared to the letter, and written again where it is
stale. One with the key alone is its author's: each number is compared with the value, and none is written.
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
from pathlib import Path

from verify.citing.exports import EXPORTED, line_text
from verify.citing.forms import written
from verify.citing.languages import LANGUAGES, Language, language_of
from verify.citing.lookup import by_key, lookup_in, shortened
from verify.citing.markers import Quote, outside, quotes_in
from verify.citing.quotations import Number, fault_of, forms_for, is_of, numbers_in, same
from verify.citing.values import Evidence, Value
from verify.errors import CitationError, OutputError
from verify.evidence import RunRecord, Verdict
from verify.files.reading import MEGABYTE, InputKind, head, read_text
from verify.files.writing import is_read_only, write_together

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
        elif path.suffix.lower() in LANGUAGES and path.is_file():
            yield path


class ProblemKind(StrEnum):
    """What is wrong with a quotation; the last two are warnings, which fail nothing."""

    STALE = "stale"
    UNSUPPORTED = "unsupported-text"
    OUTSIDE = "number-outside-markers"
    UNKNOWN = "unknown-key"
    FORM = "unsuitable-form"
    DOUBT = "no-longer-confirmed"
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
_DOCUMENT = InputKind(16 * MEGABYTE, CitationError, _FORMS)
_SUGGESTIONS = 10  # the number of unknown keys for which the nearest one is looked for, which takes long
_RAW_LINE = (
    "a marker at the start of a line makes the line raw HTML, whose Markdown is shown as it stands; "
    "put a word of the sentence before it, on the same line"
)
_NAME = re.compile(r"(?<![\w.-])[a-z0-9]+(?:-[a-z0-9]+)+(?![\w-])")


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
        return _replaced(self, [(one.quote.start, one.quote.end, one.new or "") for one in self.changes])


def _replaced(document: Document, changes: Sequence[tuple[int, int, str]]) -> str:
    parts, end = [], 0
    for start, stop, new in sorted(changes):
        parts += [document.text[end:start], document.language.written(new)]
        end = stop
    return "".join([*parts, document.text[end:]])


def check(paths: Iterable[Path], record: Evidence, *, strict: bool = False) -> list[Document]:
    r"""Return the documents, each once, with all that is wrong in them.

    Exported macros that a LaTeX document reads with ``\input`` or ``\include`` are checked as well. With
    ``strict``, numbers outside markers that should be quoted are wrong, too.

    Raises:
        CitationError: a file cannot be read or is no text, or a marker is not closed or nested.
    """
    values = _LookedUp(record)
    documents = _read_with_parts(paths, values.known)
    for document in documents:
        for quote in document.quotes:
            document.problems += _problems(document, quote, values)
        if strict:
            document.problems += [
                Problem(document.path, Quote(key, line, 0, 0, None), ProblemKind.OUTSIDE, what)
                for line, key, what in numbers_outside(document.path, document.text, values.known)
            ]
        document.warnings += _warnings(document, record)
    return documents


def _read_with_parts(paths: Iterable[Path], known: Collection[str]) -> list[Document]:
    documents: dict[str, Document] = {}
    for path in paths:
        if os.path.realpath(path) not in documents:
            documents[os.path.realpath(path)] = _read(path, known)
    waiting = list(documents.values())
    while waiting:
        for part in _parts(waiting.pop()):
            if os.path.realpath(part) not in documents:
                documents[os.path.realpath(part)] = _read(part, known)
                waiting.append(documents[os.path.realpath(part)])
    return list(documents.values())


@dataclass(frozen=True)
class Adoption:
    """A marker with the form that writes its author's text; without one, ``what`` says why."""

    path: Path
    quote: Quote
    form: str
    what: str

    def __str__(self) -> str:
        """Return one line: file, line, key, what becomes of it."""
        return f"{self.path}:{self.quote.line}: {shortened(self.quote.key)}: {self.what}"


def adopt(documents: Sequence[Document], record: Evidence) -> list[Adoption]:
    """Put forms into the markers of texts that exactly one form writes; return what became of each marker.

    The texts stay as they are.

    Raises:
        OutputError: a document is read-only or cannot be written; none is changed then.
    """
    values = _LookedUp(record)
    done: list[Adoption] = []
    files: dict[Path, str] = {}
    for document in documents:
        own = [one for one in document.quotes if _is_author_s(one) and one.key in values.known]
        made = [_adoption(document, quote, values) for quote in own]
        # A key that is changed is not one that is read as another.
        changes = [
            (one.quote.key_end, one.quote.key_end, _added(document, one.quote, one.form))
            for one in made
            if one.form
        ]
        if changes:
            files[Path(os.path.realpath(document.path))] = _replaced(document, changes)
        done += made
    _write(files)
    return done


def _adoption(document: Document, quote: Quote, values: _LookedUp) -> Adoption:
    text = quote.quoted or ""
    forms = forms_for(values.known, quote.key, text, quote.language.markup)
    if len(forms) == 1:
        return Adoption(document.path, quote, forms[0], f"has the form {forms[0]} now")
    why = f"several forms fit: {'; '.join(forms)}" if len(forms) > 1 else "no form writes this text"
    return Adoption(document.path, quote, "", f"{shortened(text)!r} stays its author's: {why}")


def _added(document: Document, quote: Quote, form: str) -> str:
    """Return what gives a key this form; beside other bars, as in a table, its own has a backslash."""
    text = document.text
    line = text[text.rfind("\n", 0, quote.key_end) + 1 :].partition("\n")[0]
    return rf"\|{form}" if re.search(r"(?<![\\\w])\||\|$", line) else f"|{form}"


def _is_author_s(quote: Quote) -> bool:
    """Return whether a text is its author's: between markers or in a role, without a form."""
    return quote.quoted is not None and not (quote.is_macro or "|" in quote.key)


def fix(documents: Sequence[Document]) -> list[Path]:
    """Write the documents that change, all or none, and return their paths.

    Raises:
        OutputError: one of them is read-only or cannot be written; none is changed then.
    """
    files = {Path(os.path.realpath(one.path)): one.fixed() for one in documents if one.changes}
    _write(files)
    return list(files)


def _write(files: Mapping[Path, str]) -> None:
    for path in files:
        if is_read_only(path):
            raise OutputError(f"{path}: is read-only; allow writing, or fix it by hand")
    try:
        write_together({path: text.encode() for path, text in files.items()})
    except OutputError as error:
        # What went wrong is said there for commands with --out; a document stays where it is.
        what, _, _ = str(error).rpartition("; ")
        raise OutputError(f"{what}; free space or allow writing in its folder, or fix it by hand") from error


class _LookedUp:
    """A run's values; what an unknown key may have meant is looked for once."""

    def __init__(self, record: Evidence) -> None:
        self.known = by_key(record)
        self._unknown: dict[str, str] = {}

    def get(self, key: str) -> Value | str:
        """Return what a key stands for, or what to say of an unknown one."""
        if key in self._unknown:
            return self._unknown[key]
        try:
            return lookup_in(self.known, key, suggest=len(self._unknown) < _SUGGESTIONS)
        except CitationError as error:
            self._unknown[key] = str(error)
            return str(error)


def _read(path: Path, known: Collection[str]) -> Document:
    text = read_text(path, _DOCUMENT)
    if "\0" in text:
        raise CitationError(f"{path}: is not a text file; {_FORMS}")
    return Document(path, text, tuple(quotes_in(path, text, language_of(path), known)))


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


def _problems(document: Document, quote: Quote, values: _LookedUp) -> Iterator[Problem]:
    value = values.get(quote.key)
    if isinstance(value, str):
        is_form = quote.key.partition("|")[0].strip() in values.known
        yield Problem(document.path, quote, ProblemKind.FORM if is_form else ProblemKind.UNKNOWN, value)
        return
    if value.doubt:
        yield Problem(document.path, quote, ProblemKind.DOUBT, f"{value.doubt}; rewrite what rests on it")
    if quote.quoted is None:
        return
    if _is_author_s(quote):
        yield from _unsupported(document, quote, value.key, values)
        return
    new = _tool_s(quote, value, values)
    if not same(quote.quoted, new) if not quote.is_macro else quote.quoted != new:
        message = f"printed {shortened(quote.quoted)!r}, now {shortened(new)!r}"
        yield Problem(document.path, quote, ProblemKind.STALE, message, new)


def _tool_s(quote: Quote, value: Value, values: _LookedUp) -> str:
    """Return what stands in the place of a quotation with a form, or of an exported macro's text."""
    if quote.is_macro:
        return line_text(value, quote.quoted or "")
    key, _, form = quote.key.partition("|")
    return written(values.known, key.strip(), form, quote.language.markup.written)


def _unsupported(document: Document, quote: Quote, key: str, values: _LookedUp) -> Iterator[Problem]:
    text = quote.quoted or ""
    fault = fault_of(values.known, key, text)
    if fault:
        form = next(iter(forms_for(values.known, key, text, quote.language.markup)), "default")
        now = written(values.known, key, form, quote.language.markup.written)
        asked = f"{key}{_added(document, quote, form)}"
        what = f"{shortened(text)!r} {fault}; to have it written: {asked} for {shortened(now)!r}"
        yield Problem(document.path, quote, ProblemKind.UNSUPPORTED, what)


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
            for number in numbers_in(prose[slice(*paragraph.span())]) if named else ():
                at, _ = passage.place(paragraph.start() + number.start, paragraph.start() + number.end)
                found = _said(number, [value for head in named for value in heads[head]])
                if found:
                    yield text.count("\n", 0, at) + 1, *found


def _said(number: Number, values: list[Value]) -> tuple[str, str] | None:
    digits = abs(number.value).scaleb(-number.place)
    if number.place >= 0 or digits < 10 ** (_SIGNIFICANT - 1):
        return None
    printed = f"{number.value:f}"
    for value in values:
        if is_of(number, value.figures[0]):
            return value.key, f"{printed} stands outside markers; quote it"
    step = Decimal(1).scaleb(number.place)
    near = [one for one in values if abs(one.figures[0].exact - number.value) < _MOST_UNITS_OFF * step]
    if near:
        value = min(near, key=lambda one: abs(one.figures[0].exact - number.value))
        return value.key, f"{printed} stands outside markers and is not {value.text}; correct or quote it"
    return None
