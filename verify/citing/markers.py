"""Finds what a document quotes: between markers, in roles and macros, and as output of doctests.

Documents are of any origin and size, so everything here takes time in proportion to a document's length.
"""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from verify.citing.languages import OUTPUT, PLAIN, Comment, Language, Passage, blank, blanked, passages

_TITLED = re.compile(r"(?P<text>.+?)\s*<(?P<key>[^<>]+)>", re.DOTALL)
_END = "/verify"
# From a comment in any language; words of prose are no switch.
_SWITCHED_OFF = re.compile(r"(?s)(?:<!--|/\*|//|[%#]|\.\.)[ \t]*verify:\s*off\s.*?(?:verify:\s*on(?=\s)|\Z)")
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

    ``key_end`` is where the key ends, ``language`` that of what is quoted, ``is_code`` whether that is a
    program's, which is compared and never written, ``is_output`` whether it is what a doctest prints.
    """

    key: str
    line: int
    start: int
    end: int
    quoted: str | None
    key_end: int = 0
    language: Language = PLAIN
    is_code: bool = False
    is_output: bool = False


class _Marker(NamedTuple):
    """A comment such as ``<!-- verify: KEY -->``, or ``<!-- /verify -->``, which has no key."""

    start: int
    end: int
    key: str
    closing: str


def quotes_in(path: Path, text: str, known: Collection[str] = ()) -> list[Quote]:
    """Return what a document quotes, in its order; of what looks like code, the quotations of ``known`` keys.

    Raises:
        CitationError: a marker is misspelt, not closed, nested, or closes nothing, or a notebook is none.
    """
    lines, quotes = [0, *(end.end() for end in re.finditer("\n", text))], []
    for passage in passages(path, text):
        for begin, inside in _quotes(passage, known):
            line = bisect_right(lines, passage.place(begin, begin)[0])
            start, end = passage.place(inside.start, inside.end)
            _, key_end = passage.place(inside.key_end - 1, inside.key_end)
            placed = replace(inside, line=line, start=start, end=end, key_end=key_end)
            quotes.append(replace(placed, is_code=passage.is_code))
    return sorted(quotes, key=attrgetter("start"))


def outside(path: Path, text: str) -> Iterator[tuple[Passage, str]]:
    """Yield each passage of a document, with its prose, of which quotations and comments are blanked out."""
    for passage in passages(path, text):
        prose = passage.language.code(_switched_on(passage))
        signs, spans = list(prose), [(quote.start, quote.end) for _, quote in _quotes(passage)]
        spans += [(start, end) for start, end, _, _ in _comments(prose, passage.language)]
        for start, end in spans:
            signs[start:end] = blank("".join(signs[start:end]))
        yield passage, "".join(signs)


def split_role(inside: str) -> tuple[str | None, str]:
    """Return text and key of a role: of ``text <KEY>`` both, of any other None and the key."""
    parts = _TITLED.fullmatch(inside.strip())
    text, key = (parts["text"], parts["key"]) if parts else (None, inside)
    return text, key.strip().replace("\\|", "|")


def _switched_on(passage: Passage) -> str:
    """Return a text without what stands from ``verify: off`` to ``verify: on`` or to the end."""
    signs = list(passage.text)
    # What code shows is no switch.
    for match in _SWITCHED_OFF.finditer(passage.language.code(passage.text)):
        signs[match.start() : match.end()] = blank(passage.text[match.start() : match.end()])
    return "".join(signs)


def _quotes(passage: Passage, known: Collection[str] = ()) -> Iterator[tuple[int, Quote]]:
    """Yield the quotations of a passage, each after the place of its marker, without lines."""
    language, text = passage.language, _switched_on(passage)
    for match in _DOCTEST.finditer(text):
        printed, start = match["output"].strip(), match.start("output")
        start += len(match["output"]) - len(match["output"].lstrip()) if printed else 0
        span = (start, start + len(printed), printed, match.end("key"))
        yield match.start(), Quote(match["key"].replace("\\|", "|"), 0, *span, OUTPUT, is_output=True)
    # The comment of a doctest would be taken for a marker without an end.
    text = blanked(_DOCTEST, text)
    prose = language.code(text)
    for match in language.role.finditer(prose) if language.role else ():
        (start, end), (quoted, key) = match.span("inside"), split_role(match["inside"])
        stop = end if quoted is None else start + len(quoted)
        yield match.start(), Quote(key, 0, start, stop, quoted, end, language)
    yield from _marked(prose, text, passage, known).items()


def _marked(prose: str, text: str, passage: Passage, known: Collection[str]) -> dict[int, Quote]:
    """Return what stands between markers, by where these start; in code, of known keys alone."""
    markers, language = list(_markers(prose, text, passage)), passage.language
    # What is code cannot always be known, but a quotation of a value can.
    pairs = {
        opening.start: _between(opening, closing.start, text, language)
        for opening, closing in pairwise(markers)
        if opening.key.partition("|")[0].rstrip("\\ ") in known and not closing.key
        if not prose[opening.end : closing.start].strip()
    }
    opened: _Marker | None = None
    for marker in markers:
        if not prose[marker.start : marker.end].strip():
            continue
        if opened and marker.key:
            what = f"a marker inside that of {opened.key}; close it with {opened.closing} first"
            raise passage.error(marker.start, what)
        if opened:
            pairs[opened.start] = _between(opened, marker.start, text, language)
        elif not marker.key:
            what = f"{marker.closing} closes nothing; remove it, or correct the marker before it"
            raise passage.error(marker.start, what)
        opened = marker if marker.key else None
    if opened:
        what = f"the marker of {opened.key} is not closed; end what it quotes with {opened.closing}"
        raise passage.error(opened.start, what)
    return pairs


def _markers(prose: str, text: str, passage: Passage) -> Iterator[_Marker]:
    """Yield the markers of a text; one in its prose that is misspelt is an error."""
    for start, end, content, (opening, closing) in _comments(text, passage.language):
        inside = text[content].strip()
        match, problem = _START.fullmatch(inside), ""
        end_marker = f"{opening} {_END} {closing}".rstrip()
        if not closing and text[text.rfind("\n", 0, start) + 1 : start].strip():
            problem = "a marker at the end of a line; put it on its own line"
        elif not match and inside != _END:
            right = f"{opening} verify: KEY {closing}".rstrip()
            problem = f"misspelt marker {inside!r}; write {right} or {end_marker}"
        if problem and _MEANT.match(inside) and prose[start:end].strip():
            raise passage.error(start, problem)
        if not problem and not (match and match["key"] in {"off", "on"}):
            yield _Marker(start, end, match["key"].strip() if match else "", end_marker)


def _comments(prose: str, language: Language) -> list[tuple[int, int, slice, Comment]]:
    """Return where comments and their content start and end, in their order; of several openings, the last.

    Comments that are lines of their own are taken with their line's end.
    """
    comments: dict[int, tuple[int, int, slice, Comment]] = {}
    for style in language.comments:
        opening, closing = map(re.escape, style)
        if closing:
            # The last sign of a closing may seem to open the next one, as in */*.
            pattern = rf"{opening}(?P<content>(?s:(?!{opening}).)*?){closing}"
        else:
            # A sign within a line starts a comment only before what may be meant as a marker.
            alone = rf"^[ \t]*{opening}(?P<content>[^\n]*)(?:\n|\Z)"
            pattern = rf"{alone}|(?<=[ \t]){opening}(?P<ending>[ \t]*/?verify\b[^\n]*)$"
        for match in re.finditer(
            pattern, prose, re.MULTILINE | re.IGNORECASE | (re.DOTALL if closing else 0)
        ):
            content = slice(*match.span(match.lastgroup or 0))
            start = content.start - len(style[0])
            # Of two openings of which one is the end of the other, the longer comes first in a language.
            if start not in comments and start - 1 not in comments:
                comments[start] = (start, match.end(), content, style)
    return [comment for _, comment in sorted(comments.items())]


def _between(opened: _Marker, stop: int, text: str, language: Language) -> Quote:
    # Line ends and spaces at the markers are the document's.
    inside = text[opened.end : stop]
    start = opened.end + (len(inside) - len(inside.lstrip()) if inside.strip() else len(inside) // 2)
    end = start + len(inside.strip())
    key_end = text.rindex(opened.key, opened.start, opened.end) + len(opened.key)
    return Quote(opened.key.replace("\\|", "|"), 0, start, end, text[start:end], key_end, language)
