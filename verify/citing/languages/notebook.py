"""Jupyter notebooks: the Markdown of their cells, and comments of their code; outputs are left alone."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from verify.citing.language import HTML, Language, Passage
from verify.citing.languages import markdown, python
from verify.errors import CitationError

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{}:,]')
_CHARACTER = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]"
)
_KINDS = {"markdown": markdown.LANGUAGE, "raw": markdown.LANGUAGE, "code": python.LANGUAGE}


class _Level(NamedTuple):
    """A list or table of the file that is open: its kind, and the key or the number of what comes next."""

    is_table: bool
    key: list[str | int]


def passages(text: str) -> Iterator[Passage]:
    """Yield the source of each cell, with where its characters stand in the file.

    Raises:
        CitationError: it is no JSON.
    """
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CitationError("is no notebook, whose file is JSON; save it again") from error
    cells: dict[int, list[tuple[int, int]]] = {}
    kinds: dict[int, str] = {}
    for path, start, end in _strings(text):
        if len(path) >= 3 and path[0] == "cells" and isinstance(path[1], int):
            if path[2] == "source":
                cells.setdefault(path[1], []).append((start, end))
            elif path[2:] == ("cell_type",):
                kinds[path[1]] = text[start:end]
    for place, literals in cells.items():
        language = _KINDS.get(kinds.get(place, ""))
        if language is not None:
            yield _decoded(text, literals, language)


def _strings(text: str) -> Iterator[tuple[tuple[str | int, ...], int, int]]:
    """Yield where each text of valid JSON stands, without quotation marks, and the keys that lead to it."""
    levels: list[_Level] = []
    is_key = False
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign in "{[":
            levels.append(_Level(sign == "{", [0 if sign == "[" else ""]))
            is_key = sign == "{"
        elif sign in "}]":
            levels.pop()
            is_key = False
        elif sign == ",":
            is_key = levels[-1].is_table
            if not is_key:
                levels[-1].key[0] = int(levels[-1].key[0]) + 1
        elif sign == ":":
            is_key = False
        elif is_key:
            levels[-1].key[0] = sign[1:-1]
        else:
            yield tuple(level.key[0] for level in levels), token.start() + 1, token.end() - 1


def _decoded(text: str, literals: list[tuple[int, int]], language: Language) -> Passage:
    shown: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for start, end in literals:
        for match in _CHARACTER.finditer(text, start, end):
            shown.append(match[0] if match[0][0] != "\\" else json.loads(f'"{match[0]}"'))
            starts.append(match.start())
            ends.append(match.end())
    return Passage("".join(shown), starts, ends, language)


def written(text: str) -> str:
    """Return a text as it stands in a file of JSON."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


LANGUAGE = Language(suffixes=(".ipynb",), comments=(HTML,), passages=passages, written=written)
