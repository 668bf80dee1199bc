"""Drawings kept under the user's cache folder, found again by all that they were made from."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import time
from functools import cache
from pathlib import Path

from platformdirs import user_cache_path

_KEPT_DAYS = 60
_DAY = 86_400.0


class Store:
    """A cache of texts; one that cannot be read or written keeps nothing, and says nothing of it.

    ``made_by`` names the versions of what draws; this package's own code always counts among them, so that
    no drawing outlives a change of the code that makes it.
    """

    def __init__(self, *made_by: str) -> None:
        self._made_by = "\n".join((_own_code(), *made_by))
        self._folder = user_cache_path("sdpa-verify", appauthor=False) / "drawings"

    def get(self, content: str) -> str | None:
        """Return what was drawn from ``content``, or None; a file cut short or changed counts as none."""
        path = self._path(content)
        try:
            seal, _, drawing = path.read_text(encoding="utf-8").partition("\n")
            if time.time() - path.stat().st_mtime > _DAY:
                os.utime(path)
        except (OSError, UnicodeError):
            return None
        return drawing if seal == _hash(drawing) else None

    def put(self, content: str, drawing: str) -> None:
        """Keep what was drawn from ``content``."""
        path = self._path(content)
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent)
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as stream:
                    stream.write(f"{_hash(drawing)}\n{drawing}")
                Path(name).replace(path)
            except OSError:
                Path(name).unlink(missing_ok=True)
                raise

    def tidy(self) -> None:
        """Remove what nobody has asked for in two months."""
        with contextlib.suppress(OSError):
            for path in self._folder.glob("??/*"):
                if time.time() - path.stat().st_mtime > _KEPT_DAYS * _DAY:
                    path.unlink(missing_ok=True)

    def _path(self, content: str) -> Path:
        key = _hash(f"{self._made_by}\n\n{content}")
        return self._folder / key[:2] / key[2:]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def _own_code() -> str:
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
