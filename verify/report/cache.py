"""Where drawings stay between reports: the user's cache, or a temporary folder for libraries that draw."""

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from verify.errors import OutputError
from verify.files.writing import environment, write_together

_VARIABLES = ("XDG_CACHE_HOME", "MPLCONFIGDIR")  # what Fontconfig and Matplotlib look for
_LARGEST = 50_000_000  # bytes of a file of drawings; a larger file has grown over many runs


def user_cache() -> Path | None:
    """Return the user's cache folder for this tool, or None where there is none or it cannot be written.

    Users without a name have no home, and that of containers is often read-only.
    """
    try:
        # Without a home, newer versions of the library raise; older versions return a path from ~ on.
        folder = user_cache_path("sdpa-verify", appauthor=False)
        if not folder.is_absolute():
            return None
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return folder if os.access(folder, os.W_OK | os.X_OK) else None


@contextlib.contextmanager
def usable_caches() -> Iterator[None]:
    """Let the libraries that draw use a temporary folder where the user has none for them."""
    if user_cache() is not None:
        yield
        return
    with contextlib.ExitStack() as stack:
        # Where there is no place for temporary files either, each library does what it can.
        with contextlib.suppress(OSError):
            folder = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
            stack.enter_context(environment(**dict.fromkeys(_VARIABLES, folder)))
        yield


class DrawingCache(dict[str, Any]):
    """Drawings by what they were drawn of, from earlier reports too.

    They lie in one file, and start empty where it was written by other versions of these ``packages``, which
    draw them, or of this package. A file that cannot be read or written counts as empty.
    """

    def __init__(self, name: str, *packages: str) -> None:
        super().__init__()
        self._made_by = [_own_digest(), *map(version, packages)]
        folder = user_cache()
        self._path = folder / f"{name}.json" if folder else None
        with contextlib.suppress(OSError, ValueError):
            if self._path and self._path.stat().st_size < _LARGEST:
                made_by, drawings = json.loads(self._path.read_bytes())
                self.update(drawings if made_by == self._made_by else {})
        self._known = len(self)

    def save(self) -> None:
        """Write down what has come to it."""
        if self._path and len(self) > self._known:
            content = json.dumps([self._made_by, self], ensure_ascii=False)
            with contextlib.suppress(OutputError):
                write_together({self._path: content.encode()}, durably=False)
            self._known = len(self)


@cache
def _own_digest() -> str:
    """Return a digest of the code that draws."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()
