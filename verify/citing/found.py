"""The documents that paths name: files, all of a folder, and those that fit a pattern, on every system."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING

from verify.citing.languages import suffixes
from verify.errors import CitationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_OTHERS = frozenset(["node_modules", "__pycache__", "site-packages", "_build", "build", "dist", "site"])
"""Folders of what is made or installed, in which nobody writes documents."""


def documents(paths: Sequence[Path]) -> list[Path]:
    """Return the files that the paths name, each once: a folder's documents, the files of a pattern.

    Raises:
        CitationError: a pattern fits no file, or a folder holds no document.
    """
    return list(dict.fromkeys(file for path in paths for file in _files(path)))


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        found = sorted(_within(path))
        if not found:
            raise CitationError(f"{path}: holds no document that can be checked; give another")
        return found
    # Where a shell does not fill in patterns, they arrive as they are.
    if glob.has_magic(str(path)) and not path.exists():
        found = [Path(one) for one in sorted(glob.glob(str(path), recursive=True)) if Path(one).is_file()]  # noqa: PTH207 - takes absolute patterns
        if not found:
            raise CitationError(f"{path}: no file fits this pattern; correct it")
        return found
    return [path]


def _within(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name.startswith(".") or path.is_symlink():
            continue
        if path.is_dir():
            if path.name not in _OTHERS:
                yield from _within(path)
        elif path.suffix.lower() in suffixes():
            yield path
