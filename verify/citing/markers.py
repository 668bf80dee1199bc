"""Finds what a document quotes: between markers, in roles and macros, and in a file of exported macros.

Documents are of any origin and size, so everything here takes time in proportion to a document's length.
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_right
from collections import defaultdict, deque
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from verify.citing.latex import VALUE_LINE
from verify.citing.values import shortened
from verify.errors import CitationError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FENCE = re.compile(
    r"^ {0,3}(?P<fence>`{3,}|~{3,}).*?(?:^ {0,3}(?P=fence)[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
_TICKS = re.compile("`+")
_ROLE = "{verify}"
_LIVE = {
    ".md": re.compile(r"\{verify\}`(?P<inside>[^`\n]+)`"),
    ".rst": re.compile(r":verify:`(?P<inside>[^`\n]+)`"),
    ".tex": re.compile(r"\\verify\{(?P<inside>[^{}#\n]+)\}"),
}
_TITLED = re.compile(r"(?P<text>.+)<(?P<key>[^<>]+)>", re.DOTALL)
_COMMENT = re.compile(r"(?<!\\)%.*")
_MARKDOWN = frozenset([".md", ".markdown"])
_WORD = "verify"
AFTER = 20
"""So many characters after a quotation may be its unit."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A key in a document and what it quotes, from ``start`` to ``end``; None where it is looked up again.

    ``after`` is what follows. Where ``mistake`` says something, its marker is mistyped.
    """

    key: str
    line: int
    start: int
    end: int
    quoted: str | None
    after: str = ""
    mistake: str = ""


class _Marker(NamedTuple):
    """A comment such as ``<!-- verify: KEY -->``, or ``<!-- /verify -->``, which has no key."""

    word: str
    key: str
    start: int
    end: int


class _Text(str):
    """A document's text, which knows where its lines start."""

    __slots__ = ("_starts",)

    def line(self, place: int) -> int:
        """Return the number of a place's line, from 1."""
        if not hasattr(self, "_starts"):
            self._starts = [0, *(end.end() for end in re.finditer("\n", self))]
        return bisect_right(self._starts, place)


def quotes_in(path: Path, text: str) -> list[Quote]:
    """Return what a document quotes, in its order.

    Raises:
        CitationError: a marker is not closed, nested, or closes nothing.
    """
    return sorted(_quotes(path, _Text(text)), key=lambda quote: quote.start)


def without_comments(text: str) -> str:
    """Return LaTeX with its comments blanked out, every character in its place."""
    return _COMMENT.sub(_blank, text)


def _quotes(path: Path, text: _Text) -> Iterator[Quote]:
    kind = path.suffix.lower()
    prose = _without_code(_FENCE.sub(_blank, text)) if kind in _MARKDOWN else str(text)
    prose = without_comments(text) if kind == ".tex" else prose
    for match in _LIVE[kind].finditer(prose) if kind in _LIVE else ():
        yield _live(match, text)
    if kind == ".tex":
        for match in VALUE_LINE.finditer(text):
            yield Quote(match["key"], text.line(match.start()), *match.span("text"), match["text"])
        return
    yield from _marked(path, prose, text)


def _live(match: re.Match[str], text: _Text) -> Quote:
    line, start = text.line(match.start()), match.start("inside")
    titled = _TITLED.fullmatch(match["inside"]) if match.re is not _LIVE[".tex"] else None
    if titled is None:
        return Quote(match["inside"].strip(), line, start, match.end("inside"), None)
    quoted = titled["text"].rstrip()
    # In reStructuredText this joins a role to what follows, without a space.
    after = text[match.end() : match.end() + AFTER + 2].removeprefix("\\ ")[:AFTER]
    return Quote(titled["key"].strip(), line, start, start + len(quoted), quoted, after)


def _marked(path: Path, prose: str, text: _Text) -> Iterator[Quote]:
    opened: _Marker | None = None
    for marker in _markers(prose):
        if marker.word != _WORD:
            yield _mistyped(marker, text)
        elif marker.key and opened and opened.word == _WORD:
            raise CitationError(
                f"{path}:{text.line(marker.start)}: a marker inside that of line {text.line(opened.start)}; "
                "close it with <!-- /verify --> first"
            )
        elif not marker.key and not opened:
            raise CitationError(
                f"{path}:{text.line(marker.start)}: <!-- /verify --> closes nothing; remove it"
            )
        elif not marker.key and opened and opened.word == _WORD:
            yield _between(opened, marker, text)
        opened = marker if marker.key else None
    if opened and opened.word == _WORD:
        raise CitationError(
            f"{path}:{text.line(opened.start)}: the marker of {opened.key} is not closed; "
            "end what it quotes with <!-- /verify -->"
        )


def _markers(prose: str) -> Iterator[_Marker]:
    """Yield the markers of a text, mistyped ones, too."""
    for start, end in _comments(prose):
        inside = prose[start + len("<!--") : end - len("-->")].strip()
        before, _, after = inside.partition("/" if inside.startswith("/") else ":")
        word, key = (before.strip(), after.strip()) if not inside.startswith("/") else (after.strip(), "")
        is_marker = inside.startswith("/") or (key and not re.search(r"\s", key))
        if is_marker and word.isalpha() and _is_near(word):
            yield _Marker(word, key, start, end)


def _comments(prose: str) -> Iterator[tuple[int, int]]:
    """Yield where comments start and end; of several openings before an end, the last counts."""
    start = prose.find("<!--")
    while start >= 0:
        following = prose.find("<!--", start + 1)
        closing = prose.find("-->", start + len("<!--"), following if following >= 0 else len(prose))
        if closing >= 0:
            yield start, closing + len("-->")
        start = following


@lru_cache(maxsize=4096)
def _is_near(word: str) -> bool:
    # The ratio needs five letters in common, and at most eight in all.
    if len(word) > len(_WORD) + 2 or len(set(word.lower()) & set(_WORD)) < len(_WORD) - 1:
        return False
    return difflib.SequenceMatcher(None, word.lower(), _WORD).ratio() > 0.8


def _mistyped(marker: _Marker, text: _Text) -> Quote:
    right = f"<!-- verify: {marker.key} -->" if marker.key else "<!-- /verify -->"
    mistake = f"mistyped marker {shortened(text[marker.start : marker.end])}; write {shortened(right)}"
    key = marker.key or f"/{marker.word}"
    return Quote(key, text.line(marker.start), marker.start, marker.end, None, mistake=mistake)


def _between(opened: _Marker, closing: _Marker, text: _Text) -> Quote:
    start, end = opened.end, closing.start
    after = text[closing.end : closing.end + AFTER]
    return Quote(opened.key, text.line(opened.start), start, end, text[start:end], after)


def _without_code(text: str) -> str:
    """Return Markdown with its code spans blanked out, but for a role's text, which is one as well."""
    lines = []
    for line in text.split("\n"):
        shown, end = [], 0
        for start, stop in _spans(line) if "`" in line else ():
            shown += [line[end:start], " " * (stop - start)]
            end = stop
        lines.append("".join([*shown, line[end:]]))
    return "\n".join(lines)


def _spans(line: str) -> Iterator[tuple[int, int]]:
    """Yield where the code spans of a line start and end: at the next run of as many ticks."""
    runs = list(_TICKS.finditer(line))
    later: defaultdict[int, deque[int]] = defaultdict(deque)
    for place, run in enumerate(runs):
        later[len(run[0])].append(place)
    place = 0
    while place < len(runs):
        run = runs[place]
        if run[0] == "`" and line.endswith(_ROLE, 0, run.start()):
            place += 2
            continue
        same = later[len(run[0])]
        while same and same[0] <= place:
            same.popleft()
        if same:
            yield run.start(), runs[same[0]].end()
        place = same[0] + 1 if same else place + 1


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])
