"""Keeps chunks' sums, checked derivations and settled claims in SQLite, each under a hash of its inputs.

Its write-ahead log lets several runs share it. It saves time and decides nothing: its file may be deleted.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from platformdirs import user_cache_path

from verify.errors import StoreError
from verify.proofs import RECORD
from verify.text.escapes import one_line

VARIABLE = "SDPA_VERIFY_STORE"
"""The environment variable that says where the store is."""

_PATIENCE_S = 5.0  # seconds to wait for another run that writes


def default_path() -> Path:
    """Return the store's default path: from the environment, else in the user's cache folder.

    Raises:
        StoreError: there is no home folder.
    """
    if named := os.environ.get(VARIABLE):
        return Path(named)
    try:
        # The number is that of the layout of the table.
        place = user_cache_path("sdpa-verify", appauthor=False) / "store-2.sqlite"
    except RuntimeError:
        place = Path()
    if not place.is_absolute():
        raise StoreError("store: there is no cache folder without a home; give --store PATH")
    return place


@cache
def code() -> str:
    """Return a digest of the tool's own code; developers edit files without another version."""
    package = Path(__file__).resolve().parents[1]
    sources = [*sorted(package.rglob("*.py")), *sorted(package.rglob("*.v")), RECORD]
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()[:12]


class Store(contextlib.AbstractContextManager["Store"]):
    """The store in one file, made if there is none; for one thread.

    Raises:
        StoreError: it cannot be opened, read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._errors():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, _PATIENCE_S, isolation_level=None)
            # SQLite does not wait for this; whoever is first does it for all.
            with contextlib.suppress(sqlite3.OperationalError):
                self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS rows (key BLOB PRIMARY KEY, content BLOB NOT NULL)"
            )

    def __exit__(self, *_: object) -> None:
        # All that was put there is written already.
        self._connection.close()

    def get(self, key: bytes) -> bytes | None:
        """Return the content under ``key``, None if there is nothing."""
        with self._errors():
            row = self._connection.execute("SELECT content FROM rows WHERE key = ?", (key,)).fetchone()
        return row[0] if row else None

    def put(self, key: bytes, content: bytes) -> None:
        """Keep ``content`` under ``key``; it is there for others at once, and outlives a kill."""
        with self._errors():
            self._connection.execute("INSERT OR IGNORE INTO rows VALUES (?, ?)", (key, content))

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """Say in one line how the store fails, in the system's words, and what helps."""
        try:
            yield
        except (sqlite3.Error, OSError, ValueError) as error:
            # SQLite quotes text that it cannot read.
            what = one_line(str(getattr(error, "strerror", None) or error))
            raise StoreError(
                f"store {self.path}: unusable ({what}); give --store another path, or use --fresh"
            ) from error
