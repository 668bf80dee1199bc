"""What a check of documents found, for all forms in which it is said."""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from verify.citing.documents import Document
    from verify.citing.problems import Problem


@dataclass(frozen=True)
class Checked:
    """The documents with what is wrong in them; ``written`` says that what can be fixed was.

    ``origin`` says which results they were held against.
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
