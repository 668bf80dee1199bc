"""Python: roles in docstrings, and markers in comments and docstrings."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from itertools import accumulate

from verify.citing.language import HTML, Language, Line, blank, blanked
from verify.citing.languages import rst

_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
# What may be meant as a marker, at the end of a line with code.
_TRAILING = re.compile(
    r"(?<=[ \t])#[ \t]*+(?:/[ \t]*+[A-Za-z]{4,8}|[A-Za-z]{4,8}[ \t]*+:[ \t]*+[^\s`<>#]++)[ \t]*+$",
    re.MULTILINE,
)
_HOLDERS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def docstrings(text: str) -> str:
    """Return Python with all but its docstrings blanked out, each without the code that it shows.

    What is no Python, such as a cell with commands of a notebook, has none.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return blank(text)
    shown = list(blank(text))
    for start, end in _spans(tree, text.splitlines(keepends=True), _line_starts(text)):
        shown[start:end] = rst.prose(text[start:end])
    return "".join(shown)


def readable(text: str) -> str:
    """Return Python with all but docstrings, comment lines and what may be meant as markers blanked out."""
    shown = list(docstrings(text))
    for match in _COMMENT.finditer(text):
        shown[match.start() : match.end()] = match[0]
    trailing = list(_TRAILING.finditer(text))
    starts = _comments(text) if trailing else frozenset()
    for match in trailing:
        if match.start() in starts:
            shown[match.start() : match.end()] = match[0]
    return "".join(shown)


def _comments(text: str) -> frozenset[int]:
    """Return where the comments of Python start; a sign in one of its strings starts none."""
    starts, found = _line_starts(text), set()
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                found.add(starts[token.start[0] - 1] + token.start[1])
    except (SyntaxError, tokenize.TokenError):
        # What comes after is no Python.
        pass
    return frozenset(found)


def _line_starts(text: str) -> list[int]:
    return [0, *accumulate(map(len, text.splitlines(keepends=True)))]


def _spans(tree: ast.Module, lines: list[str], starts: list[int]) -> list[tuple[int, int]]:
    found = []
    for holder in ast.walk(tree):
        if isinstance(holder, _HOLDERS) and holder.body:
            first = holder.body[0]
            value = first.value if isinstance(first, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                found.append((_place(value, lines, starts), _place(value, lines, starts, end=True)))
    return found


def _place(node: ast.Constant, lines: list[str], starts: list[int], *, end: bool = False) -> int:
    # Python counts columns in bytes.
    row, column = (node.end_lineno or 1, node.end_col_offset or 0) if end else (node.lineno, node.col_offset)
    return starts[row - 1] + len(lines[row - 1].encode()[:column].decode())


LANGUAGE = Language(
    suffixes=(".py", ".pyi"),
    comments=(Line("#"), Line(".."), HTML),
    role=re.compile(r":verify:`(?P<inside>[^`\n]+)`"),
    code=readable,
    comment=lambda text: blanked(_COMMENT, text),
)
