"""Finds what a document quotes: between markers, in roles and macros, and in a file of exported macros."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verify.citing.latex import VALUE_LINE
from verify.errors import CitationError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Of any word, so that a mistyped one is not overlooked.
_MARKER = re.compile(
    r"<!--\s*(?P<word>[^\W\d_]+)\s*:\s*(?P<key>\S+?)\s*-->|<!--\s*/\s*(?P<closing>[^\W\d_]+)\s*-->"
)
_FENCE = re.compile(
    r"^ {0,3}(?P<fence>`{3,}|~{3,}).*?(?:^ {0,3}(?P=fence)[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
# A role's text is a code span of its own; what stands in any other is only shown.
_CODE = re.compile(r"(?P<role>\{verify\}`[^`\n]+`)|(?<!`)(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)")
_LIVE = {
    ".md": re.compile(r"\{verify\}`(?:(?P<text>[^`\n]+?)\s*<(?P<titled>[^`<>\n]+)>|(?P<key>[^`\n]+))`"),
    ".rst": re.compile(r":verify:`(?:(?P<text>[^`\n]+?)\s*<(?P<titled>[^`<>\n]+)>|(?P<key>[^`\n]+))`"),
    ".tex": re.compile(r"\\verify\{(?P<key>[^{}#\n]+)\}"),
}
_COMMENT = re.compile(r"(?<!\\)%.*")
_MARKDOWN = frozenset([".md", ".markdown"])
AFTER = 20
"""So many characters after a quotation may be its unit."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A key in a document and what it quotes, from ``start`` to ``end``; None where it is looked up anew.

    ``after`` is what follows. Where ``mistake`` says something, its marker is mistyped.
    """

    key: str
    line: int
    start: int
    end: int
    quoted: str | None
    after: str = ""
    mistake: str = ""


def quotes_in(path: Path, text: str) -> list[Quote]:
    """Return what a document quotes, in its order.

    Raises:
        CitationError: a marker is not closed, nested, or closes nothing.
    """
    return sorted(_quotes(path, text), key=lambda quote: quote.start)


def without_comments(text: str) -> str:
    """Return LaTeX with its comments blanked out, every character in its place."""
    return _blank(_COMMENT, text)


def _quotes(path: Path, text: str) -> Iterator[Quote]:
    kind = path.suffix.lower()
    prose = _blank(_FENCE, text) if kind in _MARKDOWN else text
    prose = without_comments(text) if kind == ".tex" else prose
    prose = _blank(_CODE, prose) if kind in _MARKDOWN else prose
    for match in _LIVE[kind].finditer(prose) if kind in _LIVE else ():
        yield _live(match, text)
    if kind == ".tex":
        for match in VALUE_LINE.finditer(text):
            yield Quote(match["key"], _line(text, match.start()), *match.span("text"), match["text"])
        return
    yield from _marked(path, prose, text)


def _live(match: re.Match[str], text: str) -> Quote:
    titled = match.groupdict().get("titled")
    line = _line(text, match.start())
    if titled is None:
        return Quote(match["key"].strip(), line, *match.span("key"), None)
    # In reStructuredText this joins a role to what follows, without a space.
    after = text[match.end() :][: AFTER + 2].removeprefix("\\ ")[:AFTER]
    return Quote(titled.strip(), line, *match.span("text"), match["text"], after)


def _marked(path: Path, prose: str, text: str) -> Iterator[Quote]:
    opened: re.Match[str] | None = None
    for match in _MARKER.finditer(prose):
        word = match["word"] or match["closing"]
        if not _near(word):
            continue
        if word != "verify":
            yield _mistyped(match, text)
        elif match["key"] and opened and opened["word"] == "verify":
            raise CitationError(
                f"{path}:{_line(text, match.start())}: a marker inside that of line "
                f"{_line(text, opened.start())}; close it with <!-- /verify --> first"
            )
        elif match["closing"] and not opened:
            raise CitationError(
                f"{path}:{_line(text, match.start())}: <!-- /verify --> closes nothing; remove it"
            )
        elif match["closing"] and opened and opened["word"] == "verify":
            yield _between(opened, match, text)
        opened = match if match["key"] else None
    if opened and opened["word"] == "verify":
        raise CitationError(
            f"{path}:{_line(text, opened.start())}: the marker of {opened['key']} is not closed; "
            "end what it quotes with <!-- /verify -->"
        )


def _near(word: str) -> bool:
    return difflib.SequenceMatcher(None, word.lower(), "verify").ratio() > 0.8


def _mistyped(match: re.Match[str], text: str) -> Quote:
    right = f"<!-- verify: {match['key']} -->" if match["key"] else "<!-- /verify -->"
    key = match["key"] or f"/{match['closing']}"
    mistake = f"mistyped marker {match[0]}; write {right}"
    return Quote(key, _line(text, match.start()), *match.span(), None, mistake=mistake)


def _between(opened: re.Match[str], closing: re.Match[str], text: str) -> Quote:
    start, end = opened.end(), closing.start()
    after = text[closing.end() : closing.end() + AFTER]
    return Quote(opened["key"], _line(text, opened.start()), start, end, text[start:end], after)


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _blank(code: re.Pattern[str], text: str) -> str:
    """Return the text with what stands in code blanked out, every character in its place."""

    def blank(match: re.Match[str]) -> str:
        return match[0] if match.groupdict().get("role") else re.sub(r"[^\n]", " ", match[0])

    return code.sub(blank, text)
