"""Finds what a document quotes: between markers, in roles and macros, and in a file of exported macros.

Documents are of any origin and size, so everything here takes time in proportion to a document's length.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from verify.citing.exports import VALUE_LINE
from verify.citing.languages import PLAIN_TEXT, Block, Language, LineComment, Passage, blank
from verify.errors import CitationError

_TITLED = re.compile(r"(?P<text>.+)<(?P<key>[^<>]+)>", re.DOTALL)
_END = "/verify"
# Only a sentence, which is the last part of a form, holds spaces. In tables its bar has a backslash.
_START = re.compile(r"verify\s*:\s*(?P<key>[^\s|]+?(?:\s*\\?\|.*)?)", re.DOTALL)
_MEANT = re.compile(r"-*\s*/?\s*verify\s*(?:$|:)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Quote:
    """A key in a document and what it quotes, from ``start`` to ``end``; None where it is looked up again.

    ``key_end`` is where the key ends, ``language`` that of the passage. ``is_macro`` says that what is quoted
    is a macro's LaTeX, ``raw_line`` that its marker turns its line into raw HTML.
    """

    key: str
    line: int
    start: int
    end: int
    quoted: str | None
    key_end: int = 0
    language: Language = PLAIN_TEXT
    is_macro: bool = False
    raw_line: bool = False


class _Marker(NamedTuple):
    """A comment such as ``<!-- verify: KEY -->``, or ``<!-- /verify -->``, which has no key."""

    key: str
    start: int
    end: int
    line: int
    closing: str


def quotes_in(path: Path, text: str, language: Language, known: Collection[str] = ()) -> list[Quote]:
    """Return what a document quotes, in its order; of what looks like code, the quotations of ``known`` keys.

    Raises:
        CitationError: a marker is misspelt, not closed, nested, or closes nothing, or a notebook is none.
    """
    starts, found = _lines_of(text), []
    try:
        for passage in language.texts(text):
            for quote in _quotes(path, passage, starts, known):
                start, end = passage.place(quote.start, quote.end)
                key_end = passage.place(quote.key_end - 1, quote.key_end)[1] if quote.key_end else 0
                found.append(replace(quote, start=start, end=end, key_end=key_end))
    except CitationError as error:
        said = str(error)
        raise CitationError(said if said.startswith(str(path)) else f"{path}: {said}") from error
    return sorted(found, key=attrgetter("start"))


def outside(path: Path, text: str, language: Language) -> Iterator[tuple[Passage, str]]:
    """Yield each passage of a document that quotes, with its prose, of which quotations are blanked out."""
    read = [(passage, list(_quotes(path, passage, _lines_of(text)))) for passage in language.texts(text)]
    for passage, quotes in read if any(quotes for _, quotes in read) else ():
        code = passage.language.code(passage.text)
        prose = list(passage.language.comment(code))
        spans = [(quote.start, quote.end) for quote in quotes]
        for style in passage.language.comments:
            spans += [(start, end) for start, end, _ in _comments(code, style)]
        for start, end in spans:
            prose[start:end] = blank("".join(prose[start:end]))
        yield passage, "".join(prose)


def _lines_of(text: str) -> list[int]:
    return [0, *(end.end() for end in re.finditer("\n", text))]


def _quotes(path: Path, passage: Passage, starts: list[int], known: Collection[str] = ()) -> Iterator[Quote]:
    """Yield the quotations of a passage, with their places in it and their line in the file."""
    text, language = passage.text, passage.language

    def line(place: int) -> int:
        return bisect_right(starts, passage.place(place, place)[0])

    prose = language.code(text)
    roles = language.role.finditer(language.comment(prose)) if language.role else ()
    for match in roles:
        yield replace(_live(match, titled=language.titled), line=line(match.start()), language=language)
    for match in VALUE_LINE.finditer(text) if language.macros else ():
        yield Quote(match["key"], line(match.start()), *match.span("text"), match["text"], is_macro=True)
    marked = {quote.start: quote for quote in _marked(path, prose, passage, line)}
    if known and prose != text:
        marked = {quote.start: quote for quote in _in_code(prose, passage, line, known)} | marked
    yield from marked.values()


def _marked(path: Path, prose: str, passage: Passage, line: Callable[[int], int]) -> Iterator[Quote]:
    language = passage.language
    raw = {match.end() for match in language.raw_lines.finditer(prose)} if language.raw_lines else set()
    opened: _Marker | None = None
    for start, marker in sorted(_markers(path, prose, passage, line).items()):
        if opened and not marker.key:
            yield replace(_between(opened, start, passage), raw_line=opened.start in raw)
        elif opened:
            what = f"a marker inside that of line {opened.line}; close it with {opened.closing} first"
            raise CitationError(f"{path}:{marker.line}: {what}")
        elif not marker.key:
            what = f"{marker.closing} closes nothing; remove it, or mend the marker before it"
            raise CitationError(f"{path}:{marker.line}: {what}")
        opened = marker if marker.key else None
    if opened:
        what = f"the marker of {opened.key} is not closed; end what it quotes with {opened.closing}"
        raise CitationError(f"{path}:{opened.line}: {what}")


def _in_code(
    prose: str, passage: Passage, line: Callable[[int], int], known: Collection[str]
) -> Iterator[Quote]:
    """Yield the quotations of known keys whose text is code, for what is code cannot always be told."""
    found = []
    for style in passage.language.comments:
        for start, end, content in _comments(passage.text, style):
            inside = passage.text[content].strip()
            match = _START.fullmatch(inside)
            if match or inside == _END:
                found.append(_Marker(match["key"].strip() if match else "", start, end, line(start), ""))
    for one, other in pairwise(sorted(found, key=attrgetter("start"))):
        is_pair = one.key.partition("|")[0].rstrip("\\ ") in known and not other.key
        if is_pair and not prose[one.end : other.start].strip():
            yield _between(one, other.start, passage)


def _live(match: re.Match[str], *, titled: bool) -> Quote:
    start = match.start("inside")
    found = _TITLED.fullmatch(match["inside"]) if titled else None
    if found is None:
        return Quote(match["inside"].strip(), match.start(), start, match.end("inside"), None)
    quoted = found["text"].rstrip()
    key_end = start + found.start("key") + len(found["key"].rstrip())
    return Quote(found["key"].strip(), match.start(), start, start + len(quoted), quoted, key_end)


def _markers(path: Path, prose: str, passage: Passage, line: Callable[[int], int]) -> dict[int, _Marker]:
    """Return the markers of a text by where they start."""
    found: dict[int, _Marker] = {}
    for style in passage.language.comments:
        for start, end, content in _comments(prose, style):
            # What is code in a comment is a part of it.
            inside = passage.text[content].strip()
            match = _START.fullmatch(inside)
            if start in found or start - 1 in found or not (match or _MEANT.match(inside)):
                continue
            closing = f"{style.opening} {_END} {style.closing}".rstrip()
            if not match and inside != _END:
                right = f"{style.opening} verify: KEY {style.closing}".rstrip()
                raise CitationError(
                    f"{path}:{line(start)}: misspelt marker {inside!r}; write {right} or {closing}"
                )
            if (
                isinstance(style, LineComment)
                and passage.text[passage.text.rfind("\n", 0, start) + 1 : start].strip()
            ):
                raise CitationError(
                    f"{path}:{line(start)}: a marker at the end of a line; put it on its own line"
                )
            found[start] = _Marker(match["key"].strip() if match else "", start, end, line(start), closing)
    return found


def _comments(prose: str, style: Block | LineComment) -> Iterator[tuple[int, int, slice]]:
    """Yield where comments and their content start and end; of several openings, the last counts.

    Comments that are lines of their own are taken with their line's end.
    """
    if isinstance(style, LineComment):
        # A sign within a line starts a comment only before what may be meant as a marker.
        sign, before = re.escape(style.opening), r"(?<!\\)" if style.joins else r"(?<=[ \t])"
        line = rf"^[ \t]*{sign}(?P<alone>[^\n]*)(?:\n|\Z)|{before}{sign}(?P<ending>[ \t]*/?verify\b[^\n]*)$"
        for match in re.finditer(line, prose, re.MULTILINE | re.IGNORECASE):
            content = slice(*match.span(match.lastgroup or 0))
            yield content.start - len(style.opening), match.end(), content
        return
    opening, closing = style
    start = prose.find(opening)
    while start >= 0:
        following = prose.find(opening, start + 1)
        last = following if following >= 0 else len(prose)
        end = prose.find(closing, start + len(opening), last)
        if end >= 0:
            yield start, end + len(closing), slice(start + len(opening), end)
        start = following


def _between(opened: _Marker, stop: int, passage: Passage) -> Quote:
    text = passage.text
    inside = _without_comment(text[opened.end : stop], passage.language)
    # Line ends and spaces at the markers are the document's.
    start = opened.end + len(inside) - len(inside.lstrip())
    end = start + len(inside.strip())
    key_end = text.rindex(opened.key, opened.start, opened.end) + len(opened.key)
    key = opened.key.replace("\\|", "|")
    return Quote(key, opened.line, start, end, text[start:end], key_end, passage.language)


def _without_comment(text: str, language: Language) -> str:
    """Return a text without the comment that ends it."""
    shown = language.comment(text)
    read = text if shown == text else shown.rstrip()
    return read if text.startswith(read) else text
