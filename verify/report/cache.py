"""Where drawings are kept between reports: the user's cache folder, or a temporary one for what draws."""

import contextlib
import hashlib
import os
import time
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from platformdirs import user_cache_path

from verify.errors import OutputError
from verify.files.writing import environment, temporary_folder, write_together

_KEPT_DAYS = 60
_DAY = 86_400.0
_VARIABLES = ("XDG_CACHE_HOME", "MPLCONFIGDIR")  # what Fontconfig and Matplotlib look for


def user_cache() -> Path | None:
    """Return the user's cache folder for this tool, or None where there is none or it cannot be written.

    Users without a name have no home, and containers often a read-only one.
    """
    try:
        # Without a home, newer versions of the library raise, older ones return a path that begins with ~.
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
        try:
            folder = stack.enter_context(temporary_folder())
        except OSError:
            # There is no place for temporary files either: each library does what it can.
            yield
            return
        stack.enter_context(environment(**dict.fromkeys(_VARIABLES, str(folder))))
        yield


class DrawingCache:
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
        """Remove what was not asked for in two months."""
        if self._folder is None:
            return
        with contextlib.suppress(OSError):
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
    return _digest(Path(__file__).parent.glob("*.py"))


def _digest(files: Iterable[Path]) -> str:
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in sorted(files))).hexdigest()
