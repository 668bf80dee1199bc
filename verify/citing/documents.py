"""Finds what documents quote, says what is no longer so, and mends it."""

from __future__ import annotations

import re
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from verify.citing.latex import VALUE_LINE, macro_text
from verify.citing.quotes import agrees, mended
from verify.citing.values import lookup
from verify.errors import CitationError, OutputError
from verify.files import write_together

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from verify.evidence import RunRecord

_MARKER = re.compile(r"<!--\s*verify:\s*(?P<key>\S+?)\s*-->|<!--\s*/\s*verify\s*-->")
_FENCE = re.compile(
    r"^ {0,3}(?P<fence>`{3,}|~{3,}).*?(?:^ {0,3}(?P=fence)[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
# A role's text is a code span of its own; what stands in any other is only shown.
_CODE = re.compile(r"(?P<role>\{verify\}`[^`\n]+`)|(?<!`)(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)")
_LIVE = {
    ".md": re.compile(r"\{verify\}`(?P<key>[^`\n]+)`"),
    ".rst": re.compile(r":verify:`(?P<key>[^`\n]+)`"),
    ".tex": re.compile(r"\\verify\{(?P<key>[^{}#\n]+)\}"),
}
_COMMENT = re.compile(r"(?<!\\)%.*")
_MARKDOWN = frozenset([".md", ".markdown"])


@dataclass(frozen=True, slots=True)
class Quote:
    """A key in a document and what it quotes, from ``start`` to ``end``; None where it is looked up anew."""

    key: str
    line: int
    start: int
    end: int
    quoted: str | None


@dataclass(frozen=True, slots=True)
class Problem:
    """A quotation that is not so: where it is, what is wrong, how to mend it."""

    path: Path
    line: int
    key: str
    what: str
    mendable: bool

    def __str__(self) -> str:
        """Return one line: file, line, key, what is wrong."""
        return f"{self.path}:{self.line}: {self.key}: {self.what}"


@dataclass
class Document:
    """A document's text with its quotations and their problems."""

    path: Path
    text: str
    quotes: tuple[Quote, ...] = ()
    problems: list[Problem] = field(default_factory=list)
    changes: list[tuple[Quote, str]] = field(default_factory=list)

    def mended(self) -> str:
        """Return the text with every quotation that can be mended as it should be."""
        text = self.text
        for quote, new in sorted(self.changes, key=lambda change: -change[0].start):
            text = text[: quote.start] + new + text[quote.end :]
        return text


def check(paths: Sequence[Path], record: RunRecord) -> list[Document]:
    """Return the documents with all that is wrong in them.

    Raises:
        CitationError: a file cannot be read or is no text, or a marker is not closed or nested.
    """
    documents = [_read(path) for path in paths]
    for document in documents:
        for quote in document.quotes:
            _compare(document, quote, record)
    return documents


def mend(documents: Sequence[Document]) -> list[Path]:
    """Write the documents that change, all or none, and return their paths.

    Raises:
        OutputError: one of them is read-only or cannot be written; none is changed then.
    """
    files = {one.path.resolve(): one.mended() for one in documents if one.changes}
    modes = {path: path.stat().st_mode for path in files}
    for path, mode in modes.items():
        if not mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
            raise OutputError(f"{path}: is read-only; allow writing, or mend it by hand")
    write_together({path: text.encode() for path, text in files.items()})
    for path, mode in modes.items():
        path.chmod(stat.S_IMODE(mode))
    return list(files)


def _read(path: Path) -> Document:
    try:
        text = path.read_bytes().decode()
    except OSError as error:
        raise CitationError(
            f"{path}: cannot be read ({error.strerror}); give the documents to check"
        ) from error
    except UnicodeDecodeError as error:
        raise CitationError(
            f"{path}: is not a text file in UTF-8; give Markdown, HTML, reStructuredText or LaTeX"
        ) from error
    if "\0" in text:
        raise CitationError(f"{path}: is not a text file; give Markdown, HTML, reStructuredText or LaTeX")
    quotes = sorted(_quotes(path, text), key=lambda quote: quote.start)
    return Document(path, text, tuple(quotes))


def _quotes(path: Path, text: str) -> Iterator[Quote]:
    kind = path.suffix.lower()
    prose = _blank(_FENCE, text) if kind in _MARKDOWN else text
    prose = _blank(_COMMENT, text) if kind == ".tex" else prose
    prose = _blank(_CODE, prose) if kind in _MARKDOWN else prose
    for match in _LIVE[kind].finditer(prose) if kind in _LIVE else ():
        yield Quote(match["key"].strip(), _line(text, match.start("key")), *match.span("key"), None)
    if kind == ".tex":
        for match in VALUE_LINE.finditer(text):
            yield Quote(match["key"], _line(text, match.start()), *match.span("text"), match["text"])
        return
    yield from _marked(path, prose, text)


def _marked(path: Path, prose: str, text: str) -> Iterator[Quote]:
    opened: re.Match[str] | None = None
    for match in _MARKER.finditer(prose):
        line = _line(text, match.start())
        if match["key"] and opened:
            raise CitationError(
                f"{path}:{line}: a marker inside that of line {_line(text, opened.start())}; "
                "close it with <!-- /verify --> first"
            )
        if not match["key"] and not opened:
            raise CitationError(f"{path}:{line}: <!-- /verify --> closes nothing; remove it")
        if opened and not match["key"]:
            where = opened.end(), match.start()
            yield Quote(opened["key"], _line(text, opened.start()), *where, text[slice(*where)])
        opened = match if match["key"] else None
    if opened:
        raise CitationError(
            f"{path}:{_line(text, opened.start())}: the marker of {opened['key']} is not closed; "
            "end what it quotes with <!-- /verify -->"
        )


def _compare(document: Document, quote: Quote, record: RunRecord) -> None:
    def tell(what: str, *, mendable: bool = False) -> None:
        document.problems.append(Problem(document.path, quote.line, quote.key, what, mendable))

    try:
        value = lookup(record, quote.key)
    except CitationError as error:
        tell(str(error))
        return
    if not value.holds and value.claim:
        tell(f"its claim is no longer confirmed but {value.claim.verdict}; rewrite what rests on it")
    if quote.quoted is None:
        return
    if document.path.suffix.lower() == ".tex":
        new = macro_text(value)
        right = quote.quoted == new
    else:
        right, new = agrees(quote.quoted, value), mended(quote.quoted, value)
    if not right:
        tell(f"printed {_short(quote.quoted)}, now {_short(new)}", mendable=True)
        document.changes.append((quote, new))


def _short(text: str) -> str:
    shown = " ".join(text.split())
    return repr(shown if len(shown) <= 60 else shown[:57] + "…")


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _blank(code: re.Pattern[str], text: str) -> str:
    """Return the text with what stands in code blanked out, every character in its place."""

    def blank(match: re.Match[str]) -> str:
        return match[0] if match.groupdict().get("role") else re.sub(r"[^\n]", " ", match[0])

    return code.sub(blank, text)
