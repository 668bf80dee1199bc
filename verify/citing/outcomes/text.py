"""What was found as lines for people: each problem with file and line, then a line for each document."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verify.citing.checked import Checked
    from verify.citing.documents import Document

_FEW = 3
"""So many documents without a quotation are named; a folder may hold hundreds."""


def render(checked: Checked) -> str:
    """Return the lines."""
    return "\n".join(_lines(checked))


def _lines(checked: Checked) -> Iterator[str]:
    for problem in checked.problems:
        yield f"{problem}{'; fixed' * checked.is_fixed(problem)}"
    yield from map(str, checked.warnings)
    empty = []
    for document in checked.documents:
        if document.problems or _quotes(document):
            yield _summary(document, written=checked.written)
        else:
            empty.append(document)
    if len(empty) > _FEW:
        yield f"{len(empty)} documents: nothing is quoted in them"
    else:
        yield from (f"{document.path}: nothing is quoted here" for document in empty)
    yield f"held against the results of {checked.origin}"
    if any(one.fixable for one in checked.left):
        yield "`sdpa-verify check-docs --write FILE...` puts stale figures right"


def _quotes(document: Document) -> int:
    return sum(not quote.mistake for quote in document.quotes)


def _summary(document: Document, *, written: bool) -> str:
    quotes = _quotes(document)
    fixed = sum(problem.fixable for problem in document.problems) if written else 0
    left = len(document.problems) - fixed
    counts = [f"{fixed} fixed"] * bool(fixed) + [f"{left} not so"] * bool(left)
    macros = r"; of \verify{…} only the keys are checked, its figures are those of the exported file"
    return (
        f"{document.path}: {quotes} quotation{'s' * (quotes != 1)}, {', '.join(counts) or 'all so'}"
        f"{macros if document.macros_alone else ''}"
    )
