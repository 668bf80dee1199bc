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
        return [one for one in self.problems if not self.is_fixed(one)]

    @property
    def warnings(self) -> list[Problem]:
        """What is only said."""
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


def as_text(checked: Checked) -> str:
    """Return the lines."""
    return "\n".join(_text_lines(checked))


def _text_lines(checked: Checked) -> Iterator[str]:
    for problem in checked.problems:
        yield f"{problem}{'; fixed' * checked.is_fixed(problem)}"
    yield from map(str, checked.warnings)
    empty = []
    for document in checked.documents:
        if document.problems or document.quotes:
            yield _summary(document, written=checked.written)
        else:
            empty.append(document)
    if len(empty) > _FEW:
        yield f"{len(empty)} documents: nothing is quoted in them"
    else:
        yield from (f"{document.path}: nothing is quoted here" for document in empty)
    yield f"compared with the results of {checked.origin}"
    if any(one.fixable for one in checked.left):
        yield "`sdpa-verify check-docs --write FILE...` writes them again"


def _summary(document: Document, *, written: bool) -> str:
    quotes = len(document.quotes)
    fixed = sum(problem.fixable for problem in document.problems) if written else 0
    left = len(document.problems) - fixed
    counts = [f"{fixed} fixed"] * bool(fixed) + [f"{left} not so"] * bool(left)
    macros = r"; of \verify{…} only the keys are checked, its figures are those of the exported file"
    return (
        f"{document.path}: {quotes} quotation{'s' * (quotes != 1)}, {', '.join(counts) or 'all so'}"
        f"{macros if document.macros_alone else ''}"
    )


def as_github(checked: Checked) -> str:
    """Return a line for each problem that is left and each warning, and one for all."""
    found = [*checked.left, *checked.warnings]
    count = f"{len(checked.left)} not so, compared with the results of {one_line(checked.origin)}"
    return "\n".join([*map(_command, found), f"::notice title=sdpa-verify::{_message(count)}"])


def _command(problem: Problem) -> str:
    level = "warning" if problem.is_warning else "error"
    place = f"file={_property(address(problem.path))},line={problem.quote.line}"
    message = f"{problem.quote.key}: {problem.what}"
    return f"::{level} {place},title={_property(f'sdpa-verify {problem.kind}')}::{_message(message)}"


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")


def as_gitlab(checked: Checked) -> str:
    """Return the report: a list of problems, empty where all is so."""
    found = [*checked.left, *checked.warnings]
    return json.dumps([_issue(one) for one in found], indent=2, ensure_ascii=False)


def _issue(problem: Problem) -> dict[str, Any]:
    path = address(problem.path)
    named = f"{path}\n{problem.kind}\n{problem.quote.key}\n{problem.quote.start}"
    return {
        "description": f"{problem.quote.key}: {problem.what}",
        "check_name": f"sdpa-verify/{problem.kind}",
        "fingerprint": hashlib.sha256(named.encode(errors="backslashreplace")).hexdigest(),
        "severity": "minor" if problem.is_warning else "major",
        "location": {"path": path, "lines": {"begin": problem.quote.line}},
    }


def as_json(checked: Checked) -> str:
    """Return an object with the documents' paths, the problems, and the results they were compared with."""
    content = {
        "documents": [
            {"path": address(one.path), "quotations": len(one.quotes)} for one in checked.documents
        ],
        "results": checked.origin,
        "problems": [_in_json(checked, one) for one in (*checked.problems, *checked.warnings)],
    }
    return json.dumps(content, indent=2, ensure_ascii=False)


def _in_json(checked: Checked, problem: Problem) -> dict[str, Any]:
    return {
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


FORMS: dict[str, Callable[[Checked], str]] = {
    "github": as_github,
    "gitlab": as_gitlab,
    "json": as_json,
    "text": as_text,
}
"""The forms by their names."""
