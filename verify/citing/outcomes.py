"""What a check of documents found, in the forms of ``check-docs --format``."""

import difflib
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
        """All that was found to be wrong, document by document."""
        return [problem for document in self.documents for problem in document.problems]

    @property
    def left(self) -> list[Problem]:
        """The problems that still are."""
        return [problem for problem in self.problems if not self.is_fixed(problem)]

    @property
    def warnings(self) -> list[Problem]:
        """What fails nothing."""
        return [warning for document in self.documents for warning in document.warnings]

    def is_fixed(self, problem: Problem) -> bool:
        """Return whether a problem is one no more."""
        return self.written and problem.fixable


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


def _text_lines(checked: Checked) -> Iterator[str]:
    for problem in checked.problems:
        yield f"{problem}{'; fixed' * checked.is_fixed(problem)}"
    yield from map(str, checked.warnings)
    empty = [document for document in checked.documents if not (document.problems or document.quotes)]
    for document in checked.documents:
        if document not in empty:
            quotes = len(document.quotes)
            fixed = sum(map(checked.is_fixed, document.problems))
            stale = len(document.problems) - fixed
            counts = [f"{fixed} fixed"] * bool(fixed) + [f"{stale} stale or wrong"] * bool(stale)
            plural = "s" * (quotes != 1)
            yield f"{document.path}: {quotes} quotation{plural}, {', '.join(counts) or 'all current'}"
    if len(empty) > _FEW:
        yield f"{len(empty)} documents quote nothing"
    else:
        yield from (f"{document.path}: quotes nothing" for document in empty)
    yield f"compared with the results of {checked.origin}"
    if any(problem.fixable for problem in checked.left):
        yield "`sdpa-verify check-docs --write FILE...` updates what is stale"


def _as_github(checked: Checked) -> str:
    """Return a line for each problem that is left and each warning, and one for all."""

    def message(text: str) -> str:
        return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")

    def field(text: str) -> str:
        return message(text).replace(":", "%3A").replace(",", "%2C")

    lines = []
    for problem in (*checked.left, *checked.warnings):
        level = "warning" if problem.is_warning else "error"
        place = f"file={field(address(problem.path))},line={problem.quote.line}"
        title = field(f"sdpa-verify {problem.kind}")
        lines.append(f"::{level} {place},title={title}::{message(f'{problem.quote.key}: {problem.what}')}")
    count = f"{len(checked.left)} stale or wrong, compared with the results of {one_line(checked.origin)}"
    return "\n".join([*lines, f"::notice title=sdpa-verify::{message(count)}"])


def _as_gitlab(checked: Checked) -> str:
    """Return a code quality report: a list of problems, empty where all is current."""
    issues: list[dict[str, Any]] = []
    for problem in (*checked.left, *checked.warnings):
        path = address(problem.path)
        named = f"{path}\n{problem.kind}\n{problem.quote.key}\n{problem.quote.start}"
        issues.append(
            {
                "description": f"{problem.quote.key}: {problem.what}",
                "check_name": f"sdpa-verify/{problem.kind}",
                "fingerprint": hashlib.sha256(named.encode(errors="backslashreplace")).hexdigest(),
                "severity": "minor" if problem.is_warning else "major",
                "location": {"path": path, "lines": {"begin": problem.quote.line}},
            }
        )
    return json.dumps(issues, indent=2, ensure_ascii=False)


def _as_json(checked: Checked) -> str:
    """Return an object with the documents' paths, the problems, and the results they were compared with."""
    problems = [
        {
            "path": address(problem.path),
            "line": problem.quote.line,
            "key": problem.quote.key,
            "kind": problem.kind.value,
            "level": "warning" if problem.is_warning else "error",
            "message": problem.what,
            "printed": problem.quote.quoted,
            "now": problem.new,
            "fixed": checked.is_fixed(problem),
        }
        for problem in (*checked.problems, *checked.warnings)
    ]
    documents = [
        {"path": address(document.path), "quotations": len(document.quotes)} for document in checked.documents
    ]
    content = {"documents": documents, "results": checked.origin, "problems": problems}
    return json.dumps(content, indent=2, ensure_ascii=False)


FORMS: dict[str, Callable[[Checked], str]] = {
    "github": _as_github,
    "gitlab": _as_gitlab,
    "json": _as_json,
    "text": lambda checked: "\n".join(_text_lines(checked)),
}
"""The forms by their names."""
