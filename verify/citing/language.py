"""What a language of documents is: where it quotes, what in it is code, and how its text lies in the file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class Block(NamedTuple):
    """A comment between two signs, anywhere in a line."""

    opening: str
    closing: str


class Line(NamedTuple):
    """A comment that is a line of its own, after a sign.

    Where such a comment may also end a line, ``joins`` says that no space has to stand before it.
    """

    opening: str
    closing: str = ""
    joins: bool = False


HTML, JSX, SLASHES = Block("<!--", "-->"), Block("{/*", "*/}"), Block("/*", "*/")


class Passage(NamedTuple):
    """A text as it is read, and where each of its characters starts and ends in the file."""

    text: str
    starts: range | list[int]
    ends: range | list[int]
    language: Language

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Return where a stretch of the text lies in the file."""
        first = self.starts[start] if start < len(self.starts) else self.ends[-1] if self.ends else 0
        return (first, self.ends[end - 1]) if end > start else (first, first)


def unchanged(text: str) -> str:
    """Return the text."""
    return text


@dataclass(frozen=True)
class Language:
    """A language of documents, for files of these ``suffixes``.

    Markers stand in ``comments``; ``role`` finds what is looked up again when the document is built, its key
    in the group ``inside``, maybe after a text where ``titled``. ``code`` blanks out what only shows how to
    quote, ``comment`` what nobody reads but markers; every character stays in its place. ``macros`` says that
    values are macros of another file. ``raw_lines`` finds where a marker turns its line into raw HTML.
    ``passages`` gives a file's texts, ``written`` a text as it stands in the file, and ``included`` the names
    of files that are a part of it.
    """

    suffixes: tuple[str, ...]
    comments: tuple[Block | Line, ...]
    role: re.Pattern[str] | None = None
    titled: bool = True
    code: Callable[[str], str] = unchanged
    comment: Callable[[str], str] = unchanged
    macros: bool = False
    raw_lines: re.Pattern[str] | None = None
    passages: Callable[[str], Iterable[Passage]] | None = None
    written: Callable[[str], str] = unchanged
    included: re.Pattern[str] | None = None

    def texts(self, text: str) -> Iterable[Passage]:
        """Return the passages of a file."""
        if self.passages is not None:
            return self.passages(text)
        return [Passage(text, range(len(text)), range(1, len(text) + 1), self)]


def blank(text: str) -> str:
    """Return a text with all but its line ends blanked out."""
    return re.sub(r"[^\n]", " ", text)


def blanked(pattern: re.Pattern[str], text: str) -> str:
    """Return a text with all that a pattern finds blanked out."""
    return pattern.sub(lambda match: blank(match[0]), text)


def indented_blocks(text: str, opens: Callable[[str], bool]) -> Iterator[tuple[bool, str]]:
    """Yield the lines of a text, each with whether it is in the block indented under one that ``opens``.

    Lines keep their ends.
    """
    level: int | None = None
    for line in text.splitlines(keepends=True):
        depth = len(line) - len(line.lstrip()) if line.strip() else None
        if level is not None and depth is not None and depth <= level:
            level = None
        yield level is not None, line
        if level is None and depth is not None and opens(line):
            level = depth
