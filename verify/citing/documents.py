"""Finds documents that quote, says what in them is stale, and writes what the tool may write.

A quotation with a form, ``KEY|form``, is the tool's: compared to the letter, and written again where it is
stale and nothing else stands between the markers. One with the key alone is its author's: each number is
compared with the value, and none is written. An exported file is a quotation as a whole.
"""

from __future__ import annotations

import difflib
import glob
import json
import os
import re
import tomllib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from pydantic import ValidationError

from verify.citing.exports import exported_by
from verify.citing.languages import LANGUAGES, MARKDOWN, NOTEBOOK, RST, Language, language_of
from verify.citing.quotations import Fault, Quote, faults_of, numbers_in, outside, quotes_in
from verify.citing.values import Evidence, Value, by_key, shortened
from verify.errors import CitationError, SettingsError, what_is_wrong
from verify.evidence import Record, RunRecord
from verify.evidence.load import digest
from verify.files import MEGABYTE, InputKind, read_text, write_together
from verify.text.escapes import one_line
from verify.text.numbers import counted

_MADE = frozenset(["node_modules", "__pycache__", "site-packages", "_build", "build", "dist", "site"])
"""Folders of what is made or installed, which hold no documents."""


def find_documents(paths: Sequence[Path]) -> list[Path]:
    """Return the files that the paths name, each once: a folder's documents, the files of a pattern.

    Raises:
        CitationError: a pattern fits no file, or a folder holds no document.
    """
    files: list[Path] = []
    for path in paths:
        inside, problem = [path], ""
        if path.is_dir():
            inside, problem = _within(path), "holds no document that can be checked; give another"
        elif glob.has_magic(str(path)) and not path.exists():
            # Where a shell does not fill in patterns, they arrive as they are.
            names = sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207 - takes absolute patterns
            inside = [Path(name) for name in names if Path(name).is_file()]
            problem = "no file fits this pattern; correct it"
        if not inside:
            raise CitationError(f"{path}: {problem}")
        files += inside
    return list(dict.fromkeys(files))


def _within(folder: Path) -> list[Path]:
    """Return a folder's documents and exported files, but for hidden ones, links, and what is made."""
    files: list[Path] = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.is_symlink():
            continue
        if path.is_dir() and path.name not in _MADE:
            files += _within(path)
        elif path.is_file() and (path.suffix.lower() in LANGUAGES or exported_by(path)):
            files.append(path)
    return files


@dataclass
class Document:
    """A document's text with its quotations and what is wrong with them."""

    path: Path
    text: str
    language: Language
    quotes: tuple[Quote, ...] = ()
    problems: list[Fault] = field(default_factory=list)

    def fixed(self) -> str:
        """Return the text with every quotation that can be fixed as it should be."""
        changes = [(problem.quote, problem.new) for problem in self.problems if problem.new is not None]
        parts, end = [], 0
        for quote, written in sorted(changes, key=lambda change: change[0].start):
            new, before, after = written, self.text[: quote.start], self.text[quote.end :]
            if not quote.quoted and before.endswith("\n"):
                # Markers that are lines of their own have a line between; in reStructuredText, a paragraph.
                gap = "\n\n" if self.language is RST else "\n"
                there = len(after[:2]) - len(after[:2].lstrip("\n"))
                new = ("" if before.endswith(gap) else "\n") + new + gap[there:]
            # A notebook's text stands in strings of JSON.
            encoded = json.dumps(new, ensure_ascii=False)[1:-1] if self.language is NOTEBOOK else new
            parts += [self.text[end : quote.start], encoded]
            end = quote.end
        return "".join([*parts, self.text[end:]])


_WANTED = "give Markdown, HTML, reStructuredText, LaTeX or another text of at most 16 MB"
_DOCUMENT = InputKind(16 * MEGABYTE, CitationError, _WANTED)


def check(paths: Iterable[Path], record: Evidence, *, strict: bool = False) -> list[Document]:
    """Return the documents, each once, with all that is wrong in them.

    Exported files and badges in their folders are checked as well. With ``strict``, numbers outside markers
    that should be quoted are wrong, too.

    Raises:
        CitationError: a file cannot be read or is no text, or a marker is not closed or nested.
    """
    known = by_key(record)
    documents: dict[str, Document] = {}
    files = list(paths)
    # A paper may input macros, and a page show a badge, that went stale.
    for folder in dict.fromkeys(path.parent for path in files):
        files += sorted(path for path in folder.glob("*.*") if path.is_file() and exported_by(path))
    for path in files:
        if os.path.realpath(path) in documents:
            continue
        text = read_text(path, _DOCUMENT)
        if "\0" in text:
            raise CitationError(f"{path}: is not a text file; {_WANTED}")
        document = documents[os.path.realpath(path)] = Document(path, text, language_of(path))
        if by := exported_by(path):
            _judge_export(document, record, *by)
            continue
        document.quotes = tuple(quotes_in(path, text, known))
        for quote in document.quotes:
            document.problems += faults_of(known, quote)
        _judge_bars(document)
        if strict:
            _judge_outside(document, known)
    return list(documents.values())


def _judge_export(document: Document, record: Evidence, command: str, carried: str) -> None:
    """Add that an exported file or a badge carries another digest; only its command writes it again."""
    now, out = digest(record), document.path
    if document.path.suffix == ".svg":
        claims = record.claims if isinstance(record, RunRecord) else ()
        now, out = next((claim.digest for claim in claims if claim.id == command), ""), out.parent
        command = f"sdpa-verify badge {command}"
    document.quotes = (Quote(command, 1, 0, 0, None),)
    if not now.startswith(carried):
        what = f"is of other results (digest {carried[:12]}); write it again: {command} --out {out}"
        document.problems.append(Fault(document.quotes[0], "stale", what))


def fix(documents: Sequence[Document]) -> list[Path]:
    """Write the documents that change, all or none, and return their paths.

    Raises:
        OutputError: one of them is read-only or cannot be written; none is changed then.
    """
    # A link stays one.
    places = {Path(os.path.realpath(document.path)): document for document in documents}
    files = {place: text.encode() for place, of in places.items() if (text := of.fixed()) != of.text}
    write_together(files)
    for document in documents:
        for problem in document.problems:
            problem.is_fixed = problem.new is not None
    return list(files)


_PARAGRAPH = re.compile(r"(?:[^\n]*\S[^\n]*(?:\n|\Z))+")
_DELIMITERS = re.compile(r"^[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")


def _judge_bars(document: Document) -> None:
    """Add bars of forms that end a cell, as they do in a table of Markdown without a backslash."""
    text, what = document.text, r"in a table of Markdown, this | ends the cell; write \| before the form"
    tables = [
        paragraph.span()
        for paragraph in _PARAGRAPH.finditer(text)
        if document.language is MARKDOWN
        if any("|" in line and _DELIMITERS.match(line) for line in paragraph[0].splitlines())
    ]
    for quote in document.quotes if tables else ():
        # The bar of a form stands in its marker; only the last table that begins before it may hold it.
        place = text.find("|", text.rfind("verify", 0, quote.key_end), quote.key_end)
        start, end = tables[max(bisect_right(tables, (place, len(text))) - 1, 0)]
        if start <= place < end and text[place - 1] != "\\" and not quote.is_output:
            bar = Quote(quote.key, quote.line, place, place + 1, "|")
            document.problems.append(Fault(bar, "unescaped-bar", what, r"\|"))


_MEASURED = (":estimate", ":low", ":high", ":value")
_SIGNIFICANT = 3
_MOST_UNITS_OFF = 10  # units of the last printed digit


def _judge_outside(document: Document, known: Mapping[str, Value]) -> None:
    """Add each number outside markers that a claim named in the same paragraph speaks of.

    Only numbers with a decimal point and three significant digits count, where they are less than ten units
    of their last digit from an estimate, an end of an interval or a computed value of the claim: what was
    right of other results is as near.
    """
    heads: dict[str, list[Value]] = {}
    for key, value in known.items():
        if key.endswith(_MEASURED) and value.figures and value.figures[0].rounding != "fixed":
            heads.setdefault(key.partition(".")[0], []).append(value)
    # Without any such claim the pattern fits nothing.
    name = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, heads)) or '$.'})(?![\w-])")
    for passage, prose in outside(document.path, document.text):
        for paragraph in _PARAGRAPH.finditer(passage.text):
            values = [value for head in dict.fromkeys(name.findall(paragraph[0])) for value in heads[head]]
            for number in numbers_in(prose[slice(*paragraph.span())]) if values else ():
                unit = Decimal(1).scaleb(number.place)
                if number.place >= 0 or abs(number.value) < unit * 10 ** (_SIGNIFICANT - 1):
                    continue
                value = min(values, key=lambda value: abs(value.figures[0].exact - number.value))
                if abs(value.figures[0].exact - number.value) < _MOST_UNITS_OFF * unit:
                    at, _ = passage.place(paragraph.start() + number.start, paragraph.start() + number.end)
                    quote = Quote(value.key, document.text.count("\n", 0, at) + 1, 0, 0, None)
                    what = f"{number.value:f} stands outside markers, {shortened(value.text)} here; quote it"
                    document.problems.append(Fault(quote, "number-outside-markers", what))


def left(documents: Sequence[Document]) -> list[tuple[Path, Fault]]:
    """Return the problems that still are, each with the document's path."""
    return [(of.path, problem) for of in documents for problem in of.problems if not problem.is_fixed]


def _address(path: Path) -> str:
    """Return a file's path from the present folder where it is inside, with solidi on every system."""
    inside = os.path.relpath(path)
    return str(path if inside.startswith("..") else inside).replace(os.sep, "/")


def changes(documents: Sequence[Document]) -> str:
    """Return what ``--write`` would change as a unified diff, which ``patch`` and ``git apply`` take."""
    parts: list[str] = []
    for document in documents:
        name = _address(document.path)
        before, after = (text.splitlines(keepends=True) for text in (document.text, document.fixed()))
        for line in difflib.unified_diff(before, after, f"a/{name}", f"b/{name}"):
            parts += [line] if line.endswith("\n") else [line, "\n\\ No newline at end of file\n"]
    return "".join(parts)


def _as_text(documents: Sequence[Document], origin: str) -> str:
    lines, empty = [], 0
    for document in documents:
        for problem in document.problems:
            place = f"{document.path}:{problem.quote.line}: {shortened(problem.quote.key)}"
            lines.append(f"{place}: {problem.what}{'; fixed' * problem.is_fixed}")
    for document in documents:
        fixed = sum(problem.is_fixed for problem in document.problems)
        stale = len(document.problems) - fixed
        counts = [f"{fixed} fixed"] * bool(fixed) + [f"{stale} stale or wrong"] * bool(stale)
        if document.quotes or counts:
            quotes = counted(len(document.quotes), "quotation")
            lines.append(f"{document.path}: {quotes}, {', '.join(counts) or 'all current'}")
        else:
            empty += 1
    lines += [f"{empty} document{' quotes' if empty == 1 else 's quote'} nothing"] * bool(empty)
    lines.append(f"compared with the results of {origin}")
    if any(problem.new is not None for _, problem in left(documents)):
        lines.append("`sdpa-verify check-docs --write FILE...` updates what is stale")
    return "\n".join(lines)


def _as_github(documents: Sequence[Document], origin: str) -> str:
    """Return a line for each problem that is left, and one for all."""

    def message(text: str) -> str:
        return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")

    lines = []
    for path, problem in left(documents):
        file = message(_address(path)).replace(":", "%3A").replace(",", "%2C")
        place = f"file={file},line={problem.quote.line},title=sdpa-verify {problem.kind}"
        lines.append(f"::error {place}::{message(f'{problem.quote.key}: {problem.what}')}")
    count = f"{len(lines)} stale or wrong, compared with the results of {one_line(origin)}"
    return "\n".join([*lines, f"::notice title=sdpa-verify::{message(count)}"])


FORMS: dict[str, Callable[[Sequence[Document], str], str]] = {"github": _as_github, "text": _as_text}
"""The forms by their names: functions of the documents and of which results these were compared with."""


_KIND = InputKind(MEGABYTE, SettingsError, "give TOML in UTF-8 of at most 1 MB")


class Configuration(Record):
    """A project's settings, all of them optional; paths are relative to its folder.

    ``results`` is the results file that documents quote, ``documents`` are files, folders or patterns that
    ``check-docs`` checks, ``report`` is where the report is published, and ``site`` where its site is.
    """

    results: Path | None = None
    documents: tuple[Path, ...] = ()
    report: str = ""
    site: str = ""


def configuration(folder: Path | None = None) -> Configuration:
    """Return the settings of the project that a folder, by default the present one, is in.

    Raises:
        SettingsError: its pyproject.toml is malformed, or has settings that are none of ours.
    """
    start = (folder or Path()).absolute()
    place = next((place for place in (start, *start.parents) if (place / "pyproject.toml").is_file()), None)
    if place is None:
        return Configuration()
    # In messages, a file of the present folder has no path.
    place = Path() if place == start and folder is None else place
    path = place / "pyproject.toml"
    try:
        given = tomllib.loads(read_text(path, _KIND)).get("tool", {}).get("sdpa-verify", {})
        settings = Configuration.model_validate(given)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"{path}: is not TOML ({error}); correct the line") from error
    except ValidationError as error:
        raise SettingsError(f"{path}: [tool.sdpa-verify] {what_is_wrong(error)}; correct it") from error
    results = place / settings.results if settings.results else None
    documents = tuple(place / document for document in settings.documents)
    return settings.model_copy(update={"results": results, "documents": documents})
