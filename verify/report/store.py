"""Drawings kept under the user's cache folder, found again by all that they were made from."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from functools import cache
from pathlib import Path

from verify.errors import OutputError
from verify.files.writing import clear_leftovers, write_together
from verify.report.caches import user_cache

_KEPT_DAYS = 60
_DAY = 86_400.0


class Store:
    """A cache of texts; one that cannot be read or written keeps nothing, silently.

    ``made_by`` names the versions of what draws; this package's own code always counts among them, so that
    no drawing outlives a change of the code that makes it.
    """

    def __init__(self, *made_by: str) -> None:
        self._made_by = "\n".join((_package_digest(), *made_by))
        folder = user_cache()
        self._folder = folder / "drawings" if folder else None

    def get(self, content: str) -> str | None:
        """Return what was drawn from ``content``, or None; a file cut short or changed counts as none."""
        if self._folder is None:
            return None
        path = self._path(content, self._folder)
        try:
            seal, _, drawing = path.read_text(encoding="utf-8").partition("\n")
            if time.time() - path.stat().st_mtime > _DAY:
                os.utime(path)
        except (OSError, UnicodeError):
            return None
        return drawing if seal == _hash(drawing) else None

    def put(self, content: str, drawing: str) -> None:
        """Keep what was drawn from ``content``."""
        if self._folder is not None:
            kept = f"{_hash(drawing)}\n{drawing}".encode()
            with contextlib.suppress(OutputError):
                write_together({self._path(content, self._folder): kept}, durably=False)

    def tidy(self) -> None:
        """Remove what nobody has asked for in two months."""
        if self._folder is None:
            return
        with contextlib.suppress(OSError):
            for folder in self._folder.glob("??"):
                clear_leftovers(folder)
            for path in self._folder.glob("??/*"):
                if time.time() - path.stat().st_mtime > _KEPT_DAYS * _DAY:
                    path.unlink(missing_ok=True)

    def _path(self, content: str, folder: Path) -> Path:
        key = _hash(f"{self._made_by}\n\n{content}")
        return folder / key[:2] / key[2:]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def _package_digest() -> str:
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
