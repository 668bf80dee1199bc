"""Python: roles in docstrings, and markers in comments and docstrings."""

from __future__ import annotations

import ast
import re

from verify.citing.language import HTML, Language, Line, blank, blanked
from verify.citing.languages import rst

_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_HOLDERS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def docstrings(text: str) -> str:
    """Return Python with all but its docstrings blanked out, each without the code that it shows.

    What is no Python, such as a cell with commands of a notebook, has none.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return blank(text)
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    shown = list(blank(text))
    for start, end in _spans(tree, text.splitlines(keepends=True), starts):
        shown[start:end] = rst.prose(text[start:end])
    return "".join(shown)


def readable(text: str) -> str:
    """Return Python with all but its docstrings and the comments that are lines of their own blanked out."""
    shown = list(docstrings(text))
    for match in _COMMENT.finditer(text):
        shown[match.start() : match.end()] = match[0]
    return "".join(shown)


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
