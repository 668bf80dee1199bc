"""Finds what a document quotes: between markers, in roles and macros, and in a file of exported macros.

Documents are of any origin and size, so everything here takes time in proportion to a document's length.
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_right
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple

from verify.citing.exports import VALUE_LINE
from verify.citing.languages import Block, Line
from verify.citing.lookup import shortened
from verify.errors import CitationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from verify.citing.languages import Language, Passage

_TITLED = re.compile(r"(?P<text>.+)<(?P<key>[^<>]+)>", re.DOTALL)
_WORD = "verify"
AFTER = 40
"""The number of characters after a quotation that may be its unit."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A key in a document and what it quotes, from ``start`` to ``end``; None where it is looked up again.

    ``after`` is what follows. Where ``mistake`` says something, its marker is mistyped. ``is_macro`` says
    that what is quoted is a macro's LaTeX, ``raw_line`` that its marker turns its line into raw HTML.
    """

    key: str
    line: int
    start: int
    end: int
    quoted: str | None
    after: str = ""
    mistake: str = ""
    is_macro: bool = False
    raw_line: bool = False


class _Fault(Enum):
    """What makes a comment a marker that is meant, but is none."""

    WORD = "mistyped marker {}; write {}"
    COLON = "marker {} without its colon; write {}"
    PLACE = "marker {} at the end of a line; put {} on a line of its own"


class _Marker(NamedTuple):
    """A comment such as ``<!-- verify: KEY -->``, or ``<!-- /verify -->``, which has no key."""

    word: str
    key: str
    start: int
    end: int
    style: Block | Line
    fault: _Fault | None = None

    def written(self, inside: str) -> str:
        """Return a comment of the same kind."""
        return f"{self.style.opening} {inside} {self.style.closing}".rstrip()


class _Text(str):
    """A document's text, which knows where its lines start."""

    __slots__ = ("_starts",)

    def line(self, place: int) -> int:
        """Return the number of a place's line, from 1."""
        if not hasattr(self, "_starts"):
            self._starts = [0, *(end.end() for end in re.finditer("\n", self))]
        return bisect_right(self._starts, place)


def quotes_in(path: Path, text: str, language: Language) -> list[Quote]:
    """Return what a document quotes, in its order.

    Raises:
        CitationError: a marker is not closed, nested, or closes nothing, or a notebook is not JSON.
    """
    whole = _Text(text)
    found: list[Quote] = []
    try:
        for passage in language.texts(text):
            found += _quotes_of(path, passage, whole)
    except CitationError as error:
        said = str(error)
        raise CitationError(said if said.startswith(str(path)) else f"{path}: {said}") from error
    return sorted(found, key=lambda quote: quote.start)


def _quotes_of(path: Path, passage: Passage, whole: _Text) -> Iterator[Quote]:
    """Yield the quotations of a passage, with their places in the whole file."""
    for quote in _quotes(path, passage, whole):
        start, end = passage.place(quote.start, quote.end)
        yield replace(quote, start=start, end=end, line=whole.line(passage.place(quote.line, quote.line)[0]))


def _quotes(path: Path, passage: Passage, whole: _Text) -> Iterator[Quote]:
    """Yield the quotations of a passage with their places in it; for ``line``, where their markers start."""
    text, language = passage.text, passage.language
    prose = language.code(text)
    if language.role is not None:
        for match in language.role.finditer(language.comment(prose)):
            yield _live(match, text, titled=language.titled)
    if language.macros:
        for match in VALUE_LINE.finditer(text):
            yield Quote(match["key"], match.start(), *match.span("text"), match["text"], is_macro=True)
    raw = {match.end() for match in language.raw_lines.finditer(prose)} if language.raw_lines else set()
    for quote in _marked(path, passage, prose, whole):
        yield replace(quote, raw_line=quote.line in raw)


def _live(match: re.Match[str], text: str, *, titled: bool) -> Quote:
    start = match.start("inside")
    found = _TITLED.fullmatch(match["inside"]) if titled else None
    if found is None:
        return Quote(match["inside"].strip(), match.start(), start, match.end("inside"), None)
    quoted = found["text"].rstrip()
    # In reStructuredText this joins a role to what follows, without a space.
    after = text[match.end() : match.end() + AFTER + 2].removeprefix("\\ ")[:AFTER]
    return Quote(found["key"].strip(), match.start(), start, start + len(quoted), quoted, after)


def _marked(path: Path, passage: Passage, prose: str, whole: _Text) -> Iterator[Quote]:
    def line(marker: _Marker) -> int:
        return whole.line(passage.place(marker.start, marker.start)[0])

    opened: _Marker | None = None
    for marker in _meant(_markers(prose, passage)):
        is_open = opened is not None and not opened.fault
        end = marker.written(f"/{_WORD}")
        if marker.fault:
            yield _mistyped(marker, passage.text)
        elif marker.key and opened and is_open:
            raise CitationError(
                f"{path}:{line(marker)}: a marker inside that of line {line(opened)}; "
                f"close it with {end} first"
            )
        elif not marker.key and not opened:
            raise CitationError(f"{path}:{line(marker)}: {end} closes nothing; remove it")
        elif not marker.key and opened and is_open:
            yield _between(opened, marker, passage)
        opened = marker if marker.key else None
    if opened and not opened.fault:
        raise CitationError(
            f"{path}:{line(opened)}: the marker of {opened.key} is not closed; "
            f"end what it quotes with {opened.written(f'/{_WORD}')}"
        )


def _meant(markers: Iterable[_Marker]) -> Iterator[_Marker]:
    """Yield the markers; one without its colon only where it is closed, for else it is a remark."""
    before: _Marker | None = None
    for marker, after in pairwise(chain(markers, [None])):
        if marker is None:
            continue
        is_remark = marker.fault is _Fault.COLON and (after is None or after.key)
        is_inside = before is not None and before.key and not before.fault
        if not is_remark and not (marker.fault is _Fault.COLON and is_inside):
            yield marker
            before = marker


def _markers(prose: str, passage: Passage) -> Iterator[_Marker]:
    """Yield the markers of a text in their order, mistyped ones, too."""
    found: dict[int, _Marker] = {}
    for style in passage.language.comments:
        for start, end, inside in _blocks(prose, style) if isinstance(style, Block) else _lines(prose, style):
            marker = _marker(inside.strip(), start, end, style)
            marker = marker and _placed(marker, passage.text)
            if marker is not None and not any(place in found for place in (start, start - 1)):
                found[start] = marker
    yield from (found[start] for start in sorted(found))


def _placed(marker: _Marker, text: str) -> _Marker | None:
    """Return a marker; with that fault where it is to be a line of its own, and is not."""
    if isinstance(marker.style, Block):
        return marker
    if not text[text.rfind("\n", 0, marker.start) + 1 : marker.start].strip():
        return marker
    # Without a colon it is rather a remark on its line.
    return None if marker.fault is _Fault.COLON else marker._replace(fault=_Fault.PLACE)


def _marker(inside: str, start: int, end: int, style: Block | Line) -> _Marker | None:
    is_end = inside.startswith("/")
    before, _, after = inside.partition("/" if is_end else ":")
    word, key = (after.strip(), "") if is_end else (before.strip(), after.strip())
    fault = None if word == _WORD else _Fault.WORD
    if not (is_end or (key and word.isalpha())):
        # A key may have a colon of its own.
        word, _, key = inside.partition(" ")
        fault = _Fault.COLON
    is_marker = is_end or (key and not re.search(r"\s", key))
    is_marker = is_marker and word.isalpha() and _is_near(word)
    return _Marker(word, key, start, end, style, fault) if is_marker else None


def _blocks(prose: str, style: Block) -> Iterator[tuple[int, int, str]]:
    """Yield where comments start and end, and what is in them; of several openings, the last counts."""
    opening, closing = style
    start = prose.find(opening)
    while start >= 0:
        following = prose.find(opening, start + 1)
        last = following if following >= 0 else len(prose)
        end = prose.find(closing, start + len(opening), last)
        if end >= 0:
            yield start, end + len(closing), prose[start + len(opening) : end]
        start = following


def _lines(prose: str, style: Line) -> Iterator[tuple[int, int, str]]:
    """Yield the comments that are lines of their own, each with its line's end; then those that end lines."""
    sign, before = re.escape(style.opening), r"(?<!\\)" if style.joins else r"(?<=[ \t])"
    alone = re.compile(rf"^[ \t]*{sign}(?P<inside>[^\n]*)(?:\n|\Z)", re.MULTILINE)
    ending = re.compile(
        rf"{before}{sign}(?P<inside>[ \t]*+(?:/[ \t]*+[A-Za-z]++|[A-Za-z]++[ \t]*+:[ \t]*+\S++)[ \t]*+)$",
        re.MULTILINE,
    )
    for pattern in (alone, ending):
        for match in pattern.finditer(prose):
            yield match.start("inside") - len(style.opening), match.end(), match["inside"]


@lru_cache(maxsize=4096)
def _is_near(word: str) -> bool:
    # The ratio needs five letters in common, and at most eight in all.
    if len(word) > len(_WORD) + 2 or len(set(word.lower()) & set(_WORD)) < len(_WORD) - 1:
        return False
    return difflib.SequenceMatcher(None, word.lower(), _WORD).ratio() > 0.8


def _mistyped(marker: _Marker, text: str) -> Quote:
    right = marker.written(f"{_WORD}: {marker.key}" if marker.key else f"/{_WORD}")
    fault = marker.fault or _Fault.WORD
    mistake = fault.value.format(shortened(text[marker.start : marker.end]), shortened(right))
    key = marker.key or f"/{marker.word}"
    return Quote(key, marker.start, marker.start, marker.end, None, mistake=mistake)


def _between(opened: _Marker, closing: _Marker, passage: Passage) -> Quote:
    text, start = passage.text, opened.end
    end = start + len(_read(text[start : closing.start], passage.language))
    after = text[closing.end : closing.end + AFTER]
    return Quote(opened.key, opened.start, start, end, text[start:end], after)


def _read(text: str, language: Language) -> str:
    """Return a text without the comment that ends it, which in LaTeX starts like a unit."""
    shown = language.comment(text)
    read = text if shown == text else shown.rstrip()
    return read if text.startswith(read) else text
