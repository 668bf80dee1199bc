"""Finds what a document quotes: between markers, in roles and macros, and as output of doctests.

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

from verify.citing.languages import MARKUPS, PLAIN_TEXT, Comment, Language, Passage, blank
from verify.errors import CitationError

_TITLED = re.compile(r"(?P<text>.+)<(?P<key>[^<>]+)>", re.DOTALL)
_END = "/verify"
_OFF, _ON = "verify: off", "verify: on"
# Only a sentence, which is the last part of a form, holds spaces. In tables its bar has a backslash.
_START = re.compile(r"verify\s*:\s*(?P<key>[^\s|]+?(?:\s*\\?\|.*)?)", re.DOTALL)
_MEANT = re.compile(r"-*\s*/?\s*verify\s*(?:$|:)", re.IGNORECASE)
_DOCTEST = re.compile(
    r"^(?P<indent>[ \t]*)(?:>>>|\.\.\.)[ ][^\n]*#[ ]*verify:[ ]*(?P<key>[^\n]*\S)[ \t]*\n"
    r"(?P<output>(?:(?P=indent)(?!>>>|\.\.\.[ ]|```|~~~)[^\s\"'][^\n]*(?:\n|\Z))*)",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Quote:
    """A key in a document and what it quotes, from ``start`` to ``end``; None where it is looked up again.

    ``key_end`` is where the key ends, ``language`` that of the passage, ``is_code`` whether the text is a
    program's, which is compared and never written. ``raw_line`` says that its marker turns its line into raw
    HTML, ``is_output`` that it is what a doctest prints.
    """

    key: str
    line: int
    start: int
    end: int
    quoted: str | None
    key_end: int = 0
    language: Language = PLAIN_TEXT
    is_code: bool = False
    raw_line: bool = False
    is_output: bool = False


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
    line_starts, quotes = [0, *(end.end() for end in re.finditer("\n", text))], []
    try:
        for passage in language.texts(text):
            for quote in _quotes(path, passage, line_starts, known):
                start, end = passage.place(quote.start, quote.end)
                key_end = passage.place(quote.key_end - 1, quote.key_end)[1] if quote.key_end else 0
                quotes.append(replace(quote, start=start, end=end, key_end=key_end, is_code=passage.is_code))
    except CitationError as error:
        what = str(error)
        raise CitationError(what if what.startswith(str(path)) else f"{path}: {what}") from error
    return sorted(quotes, key=attrgetter("start"))


def outside(path: Path, text: str, language: Language) -> Iterator[tuple[Passage, str]]:
    """Yield each passage of a document, with its prose, of which quotations and comments are blanked out."""
    for passage in language.texts(text):
        code = _without(passage.language.code(passage.text), _switched_off(passage))
        prose = list(passage.language.comment(code))
        spans = [(quote.start, quote.end) for quote in _quotes(path, passage, [0])]
        for style in passage.language.comments:
            spans += [(start, end) for start, end, _ in _comments(code, style)]
        for start, end in spans:
            prose[start:end] = blank("".join(prose[start:end]))
        yield passage, "".join(prose)


def _switched_off(passage: Passage) -> list[tuple[int, int]]:
    """Return the stretches from a comment ``verify: off`` to ``verify: on`` or to the end."""
    text, stretches = passage.text, []
    if not re.search(r"verify:\s*off", text):
        return []
    prose, since = passage.language.code(text), None
    switches = {
        start: (end, " ".join(text[content].split()))
        for style in passage.language.comments
        for start, end, content in _comments(prose, style)
    }
    for start, (end, word) in sorted(switches.items()):
        if word == _OFF and since is None:
            since = start
        elif word == _ON and since is not None:
            stretches.append((since, end))
            since = None
    return [*stretches, (since, len(text))] if since is not None else stretches


def _without(text: str, stretches: list[tuple[int, int]]) -> str:
    parts, done = [], 0
    for start, end in stretches:
        parts += [text[done:start], blank(text[start:end])]
        done = end
    return "".join([*parts, text[done:]])


def _quotes(
    path: Path, passage: Passage, line_starts: list[int], known: Collection[str] = ()
) -> Iterator[Quote]:
    """Yield the quotations of a passage, with their places in it and their line in the file."""
    language, off = passage.language, _switched_off(passage)

    def line(place: int) -> int:
        return bisect_right(line_starts, passage.place(place, place)[0])

    text = _without(passage.text, off)
    outputs = list(_DOCTEST.finditer(text))
    for match in outputs:
        start, stop = match.span("output")
        printed = text[start:stop].strip()
        start += len(text[start:stop]) - len(text[start:stop].lstrip()) if printed else 0
        output = replace(language, markup=MARKUPS["python"])
        key = match["key"].replace("\\|", "|")
        yield Quote(
            key,
            line(match.start()),
            start,
            start + len(printed),
            printed,
            match.end("key"),
            output,
            is_output=True,
        )
    text = _without(text, [match.span() for match in outputs])
    passage = passage._replace(text=text)
    prose = _without(language.code(passage.text), off)
    for match in language.role.finditer(language.comment(prose)) if language.role else ():
        yield replace(_role(match, titled=language.titled), line=line(match.start()), language=language)
    marked = {quote.start: quote for quote in _marked(path, prose, passage, line)}
    if known and prose != text:
        marked = {quote.start: quote for quote in _in_code(prose, passage, line, known)} | marked
    yield from marked.values()


def _role(match: re.Match[str], *, titled: bool) -> Quote:
    start = match.start("inside")
    parts = _TITLED.fullmatch(match["inside"]) if titled else None
    if parts is None:
        key = match["inside"].strip().replace("\\|", "|")
        return Quote(key, match.start(), start, match.end("inside"), None)
    quoted = parts["text"].rstrip()
    key_end = start + parts.start("key") + len(parts["key"].rstrip())
    key = parts["key"].strip().replace("\\|", "|")
    return Quote(key, match.start(), start, start + len(quoted), quoted, key_end)


def _marked(path: Path, prose: str, passage: Passage, line: Callable[[int], int]) -> Iterator[Quote]:
    """Yield what stands between markers."""
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
            what = f"{marker.closing} closes nothing; remove it, or correct the marker before it"
            raise CitationError(f"{path}:{marker.line}: {what}")
        opened = marker if marker.key else None
    if opened:
        what = f"the marker of {opened.key} is not closed; end what it quotes with {opened.closing}"
        raise CitationError(f"{path}:{opened.line}: {what}")


def _in_code(
    prose: str, passage: Passage, line: Callable[[int], int], known: Collection[str]
) -> Iterator[Quote]:
    """Yield the quotations of known keys whose text is code, for what is code cannot always be told."""
    markers = []
    for style in passage.language.comments:
        for start, end, content in _comments(passage.text, style):
            inside = passage.text[content].strip()
            match = _START.fullmatch(inside)
            if match or inside == _END:
                markers.append(_Marker(match["key"].strip() if match else "", start, end, line(start), ""))
    for opening, closing in pairwise(sorted(markers, key=attrgetter("start"))):
        is_pair = opening.key.partition("|")[0].rstrip("\\ ") in known and not closing.key
        if is_pair and not prose[opening.end : closing.start].strip():
            yield _between(opening, closing.start, passage)


def _markers(path: Path, prose: str, passage: Passage, line: Callable[[int], int]) -> dict[int, _Marker]:
    """Return the markers of a text by where they start."""
    markers: dict[int, _Marker] = {}
    for style in passage.language.comments:
        for start, end, content in _comments(prose, style):
            # What is code in a comment is a part of it.
            inside = passage.text[content].strip()
            match = _START.fullmatch(inside)
            is_switch = " ".join(inside.split()) in {_OFF, _ON}
            if start in markers or start - 1 in markers or is_switch or not (match or _MEANT.match(inside)):
                continue
            closing = f"{style.opening} {_END} {style.closing}".rstrip()
            if not match and inside != _END:
                right = f"{style.opening} verify: KEY {style.closing}".rstrip()
                raise CitationError(
                    f"{path}:{line(start)}: misspelt marker {inside!r}; write {right} or {closing}"
                )
            before = passage.text[passage.text.rfind("\n", 0, start) + 1 : start]
            if not style.closing and before.strip():
                raise CitationError(
                    f"{path}:{line(start)}: a marker at the end of a line; put it on its own line"
                )
            markers[start] = _Marker(match["key"].strip() if match else "", start, end, line(start), closing)
    return markers


def _comments(prose: str, style: Comment) -> Iterator[tuple[int, int, slice]]:
    """Yield where comments and their content start and end; of several openings, the last counts.

    Comments that are lines of their own are taken with their line's end.
    """
    opening, closing, _ = style
    if not closing:
        # A sign within a line starts a comment only before what may be meant as a marker.
        sign, before = re.escape(opening), r"(?<!\\)" if style.glued else r"(?<=[ \t])"
        line = rf"^[ \t]*{sign}(?P<alone>[^\n]*)(?:\n|\Z)|{before}{sign}(?P<ending>[ \t]*/?verify\b[^\n]*)$"
        for match in re.finditer(line, prose, re.MULTILINE | re.IGNORECASE):
            content = slice(*match.span(match.lastgroup or 0))
            yield content.start - len(opening), match.end(), content
        return
    start = prose.find(opening)
    while start >= 0:
        inner = start + len(opening)
        # The last sign of a closing may seem to open the next one, as in */*.
        following = prose.find(opening, inner)
        last = following + len(closing) - 1 if following >= 0 else len(prose)
        end = prose.find(closing, inner, last)
        if end >= 0:
            yield start, end + len(closing), slice(inner, end)
            following = prose.find(opening, end + len(closing))
        start = following


def _between(opened: _Marker, stop: int, passage: Passage) -> Quote:
    text, language = passage.text, passage.language
    inside = text[opened.end : stop]
    # A comment that ends the text is not quoted.
    without_comments = language.comment(inside)
    if without_comments != inside and inside.startswith(without_comments.rstrip()):
        inside = without_comments.rstrip()
    # Line ends and spaces at the markers are the document's.
    start = opened.end + (len(inside) - len(inside.lstrip()) if inside.strip() else len(inside) // 2)
    end = start + len(inside.strip())
    key_end = text.rindex(opened.key, opened.start, opened.end) + len(opened.key)
    return Quote(opened.key.replace("\\|", "|"), opened.line, start, end, text[start:end], key_end, language)
