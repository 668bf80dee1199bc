"""What a check of documents found, in the forms of ``check-docs --format``."""

import difflib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from verify.citing.documents import Document, Problem
from verify.text.escapes import one_line


@dataclass(frozen=True)
class Checked:
    """The documents with what is wrong in them; ``written`` says that what can be fixed was.

    ``origin`` says which results they were compared with.
    """

    documents: Sequence[Document]
    origin: str
    written: bool = False

    @property
    def problems(self) -> list[Problem]:
        """All that was wrong, document by document."""
        return [problem for document in self.documents for problem in document.problems]

    @property
    def left(self) -> list[Problem]:
        """The problems that still are."""
        return [problem for problem in self.problems if not self.is_fixed(problem)]

    def is_fixed(self, problem: Problem) -> bool:
        """Return whether a problem is one no more."""
        return self.written and problem.new is not None


def address(path: Path) -> str:
    """Return a file's path from the present folder where that can be said, with solidi on every system."""
    try:
        inside = os.path.relpath(path)
    except ValueError:  # on another drive
        inside = str(path)
    return str(path if inside.startswith("..") else inside).replace(os.sep, "/")


def changes(documents: Sequence[Document]) -> str:
    """Return what ``--write`` would change as a unified diff, which ``patch`` and ``git apply`` take."""
    parts: list[str] = []
    for document in documents:
        name = address(document.path)
        before, after = (text.splitlines(keepends=True) for text in (document.text, document.fixed()))
        lines = difflib.unified_diff(before, after, f"a/{name}", f"b/{name}")
        parts += (
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
        )
    return "".join(parts)


_FEW = 3  # the number of documents without a quotation that are named; a folder may hold hundreds


def _as_text(checked: Checked) -> str:
    lines = [f"{problem}{'; fixed' * checked.is_fixed(problem)}" for problem in checked.problems]
    empty = [document for document in checked.documents if not (document.problems or document.quotes)]
    for document in checked.documents:
        if document not in empty:
            fixed = sum(map(checked.is_fixed, document.problems))
            stale = len(document.problems) - fixed
            counts = [f"{fixed} fixed"] * bool(fixed) + [f"{stale} stale or wrong"] * bool(stale)
            quotes = f"{len(document.quotes)} quotation{'s' * (len(document.quotes) != 1)}"
            lines.append(f"{document.path}: {quotes}, {', '.join(counts) or 'all current'}")
    if len(empty) > _FEW:
        lines.append(f"{len(empty)} documents quote nothing")
    else:
        lines += [f"{document.path}: quotes nothing" for document in empty]
    lines.append(f"compared with the results of {checked.origin}")
    if any(problem.new is not None for problem in checked.left):
        lines.append("`sdpa-verify check-docs --write FILE...` updates what is stale")
    return "\n".join(lines)


def _as_github(checked: Checked) -> str:
    """Return a line for each problem that is left, and one for all."""

    def message(text: str) -> str:
        return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")

    def field(text: str) -> str:
        return message(text).replace(":", "%3A").replace(",", "%2C")

    lines = []
    for problem in checked.left:
        place = f"file={field(address(problem.path))},line={problem.quote.line}"
        title = field(f"sdpa-verify {problem.kind}")
        lines.append(f"::error {place},title={title}::{message(f'{problem.quote.key}: {problem.what}')}")
    count = f"{len(checked.left)} stale or wrong, compared with the results of {one_line(checked.origin)}"
    return "\n".join([*lines, f"::notice title=sdpa-verify::{message(count)}"])


def _as_json(checked: Checked) -> str:
    """Return an object with the documents' paths, the problems, and the results they were compared with."""
    problems = [
        {
            "path": address(problem.path),
            "line": problem.quote.line,
            "key": problem.quote.key,
            "kind": problem.kind.value,
            "message": problem.what,
            "printed": problem.quote.quoted,
            "now": problem.new,
            "fixed": checked.is_fixed(problem),
        }
        for problem in checked.problems
    ]
    documents = [
        {"path": address(document.path), "quotations": len(document.quotes)} for document in checked.documents
    ]
    content = {"documents": documents, "results": checked.origin, "problems": problems}
    return json.dumps(content, indent=2, ensure_ascii=False)


FORMS: dict[str, Callable[[Checked], str]] = {"github": _as_github, "json": _as_json, "text": _as_text}
"""The forms by their names."""
