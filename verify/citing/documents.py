"""Reads documents that quote, says what is no longer so, and mends it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from verify.citing.figures import numbers_in
from verify.citing.latex import EXPORTED, macro_text
from verify.citing.markers import Quote, quotes_in, without_comments
from verify.citing.quotes import agrees, mended
from verify.citing.values import by_key, lookup_in
from verify.errors import CitationError, OutputError
from verify.files import is_read_only, write_together

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from verify.citing.values import Value
    from verify.evidence import RunRecord

_INPUT = re.compile(r"\\(?:input|include)\s*\{\s*(?P<name>[^{}]+?)\s*\}")


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

    @property
    def macros_alone(self) -> bool:
        r"""Whether it is LaTeX that quotes with ``\verify{…}``, whose figures stand in another file."""
        return _is_latex(self.path) and any(quote.quoted is None for quote in self.quotes)

    def mended(self) -> str:
        """Return the text with every quotation that can be mended as it should be."""
        text = self.text
        for quote, new in sorted(self.changes, key=lambda change: -change[0].start):
            text = text[: quote.start] + new + text[quote.end :]
        return text


def check(paths: Sequence[Path], record: RunRecord) -> list[Document]:
    r"""Return the documents, each once, with all that is wrong in them.

    Exported macros that a LaTeX document reads with ``\input`` or ``\include`` are checked as well.

    Raises:
        CitationError: a file cannot be read or is no text, or a marker is not closed or nested.
    """
    documents: dict[Path, Document] = {}
    for path in paths:
        if path.resolve() not in documents:
            documents[path.resolve()] = _read(path)
    for document in list(documents.values()):
        for exported in _exported(document):
            documents.setdefault(exported.path.resolve(), exported)
    known = by_key(record)
    for document in documents.values():
        for quote in document.quotes:
            _compare(document, quote, known)
    return list(documents.values())


def mend(documents: Sequence[Document]) -> list[Path]:
    """Write the documents that change, all or none, and return their paths.

    Raises:
        OutputError: one of them is read-only or cannot be written; none is changed then.
    """
    files = {one.path.resolve(): one.mended() for one in documents if one.changes}
    for path in files:
        if is_read_only(path):
            raise OutputError(f"{path}: is read-only; allow writing, or mend it by hand")
    try:
        write_together({path: text.encode() for path, text in files.items()})
    except OutputError as error:
        # What went wrong is said there for commands with --out; a document stays where it is.
        what, _, _ = str(error).rpartition("; ")
        raise OutputError(f"{what}; free space or allow writing in its folder, or mend it by hand") from error
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
    return Document(path, text, tuple(quotes_in(path, text)))


def _exported(document: Document) -> Iterator[Document]:
    """Yield the files of exported macros that a LaTeX document reads."""
    if not _is_latex(document.path):
        return
    for match in _INPUT.finditer(without_comments(document.text)):
        for name in (f"{match['name']}.tex", match["name"]):
            path = document.path.parent / name
            if _is_exported(path):
                yield _read(path)
                break


def _is_exported(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return stream.read(len(EXPORTED)) == EXPORTED.encode()
    except OSError:
        # What TeX cannot read either is TeX's to tell.
        return False


def _is_latex(path: Path) -> bool:
    return path.suffix.lower() == ".tex"


def _compare(document: Document, quote: Quote, known: Mapping[str, Value]) -> None:
    def tell(what: str, *, mendable: bool = False) -> None:
        document.problems.append(Problem(document.path, quote.line, quote.key, what, mendable))

    if quote.mistake:
        tell(quote.mistake)
        return
    try:
        value = lookup_in(known, quote.key)
    except CitationError as error:
        tell(str(error))
        return
    if not value.holds and value.claim:
        tell(f"its claim is no longer confirmed but {value.claim.verdict}; rewrite what rests on it")
    if quote.quoted is None or _says(document, quote.quoted, quote.after, value):
        return
    new = macro_text(value) if _is_latex(document.path) else mended(quote.quoted, value, quote.after)
    if new is None:
        others = len(numbers_in(quote.quoted)) > len(value.figures) > 0
        tell(
            f"printed {_short(quote.quoted)}; cannot be mended by itself; write {_short(value.text)} by hand"
            f"{', and other figures outside the markers' if others else ''}"
        )
        return
    tell(f"printed {_short(quote.quoted)}, now {_short(new)}", mendable=True)
    document.changes.append((quote, new))


def _says(document: Document, quoted: str, after: str, value: Value) -> bool:
    return quoted == macro_text(value) if _is_latex(document.path) else agrees(quoted, value, after)


def _short(text: str) -> str:
    shown = " ".join(text.split())
    return repr(shown if len(shown) <= 60 else shown[:57] + "…")
