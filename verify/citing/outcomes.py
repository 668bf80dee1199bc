"""The outcome of a check of documents, in the forms of ``check-docs --format``."""

import difflib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from verify.citing.documents import Document, Problem
from verify.text.escapes import one_line


def left(documents: Sequence[Document]) -> list[Problem]:
    """Return the problems that still are, document by document."""
    return [problem for document in documents for problem in document.problems if not problem.is_fixed]


def address(path: Path) -> str:
    """Return a file's path from the present folder where it is inside, with solidi on every system."""
    inside = os.path.relpath(path)
    return str(path if inside.startswith("..") else inside).replace(os.sep, "/")


def changes(documents: Sequence[Document]) -> str:
    """Return what ``--write`` would change as a unified diff, which ``patch`` and ``git apply`` take."""
    parts: list[str] = []
    for document in documents:
        name = address(document.path)
        before, after = (text.splitlines(keepends=True) for text in (document.text, document.fixed()))
        for line in difflib.unified_diff(before, after, f"a/{name}", f"b/{name}"):
            parts += [line] if line.endswith("\n") else [line, "\n\\ No newline at end of file\n"]
    return "".join(parts)


def _as_text(documents: Sequence[Document], origin: str) -> str:
    lines, empty = [str(problem) for document in documents for problem in document.problems], 0
    for document in documents:
        fixed = sum(problem.is_fixed for problem in document.problems)
        stale = len(document.problems) - fixed
        counts = [f"{fixed} fixed"] * bool(fixed) + [f"{stale} stale or wrong"] * bool(stale)
        quotes = f"{len(document.quotes)} quotation{'s' * (len(document.quotes) != 1)}"
        if document.quotes or counts:
            lines.append(f"{document.path}: {quotes}, {', '.join(counts) or 'all current'}")
        else:
            empty += 1
    lines += [f"{empty} document{' quotes' if empty == 1 else 's quote'} nothing"] * bool(empty)
    lines.append(f"compared with the results of {origin}")
    if any(problem.new is not None for problem in left(documents)):
        lines.append("`sdpa-verify check-docs --write FILE...` updates what is stale")
    return "\n".join(lines)


def _as_github(documents: Sequence[Document], origin: str) -> str:
    """Return a line for each problem that is left, and one for all."""

    def message(text: str) -> str:
        return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")

    lines = []
    for problem in left(documents):
        file = message(address(problem.path)).replace(":", "%3A").replace(",", "%2C")
        place = f"file={file},line={problem.quote.line},title=sdpa-verify {problem.kind}"
        lines.append(f"::error {place}::{message(f'{problem.quote.key}: {problem.what}')}")
    count = f"{len(lines)} stale or wrong, compared with the results of {one_line(origin)}"
    return "\n".join([*lines, f"::notice title=sdpa-verify::{message(count)}"])


FORMS: dict[str, Callable[[Sequence[Document], str], str]] = {"github": _as_github, "text": _as_text}
"""The forms by their names: functions of the documents and of which results these were compared with."""
