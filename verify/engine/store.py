"""Keeps finished chunks, checked derivations and settled claims, each under a hash of all it depends on.

One table in one file of SQLite, whose write-ahead log lets several runs share it. A store saves time and
decides nothing: where it cannot be opened, read or written a run goes on without it, and says so in one line.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

from platformdirs import user_cache_path

from verify.errors import StoreError
from verify.text.escapes import one_line

VARIABLE = "SDPA_VERIFY_STORE"
"""The environment variable that says where the store is."""

_APPLICATION = 0x5D9A_0002  # in the header of the file: it marks a store, and the layout of its table
_EARLIER = 0x5D9A_0001  # the layout of 1.0, whose rows are of no use to this version
_PATIENCE_S = 5.0  # seconds to wait for another run that writes


def default_path() -> Path:
    """Return the store's default path: from the environment, else in the user's cache folder.

    Raises:
        StoreError: there is no home folder.
    """
    if named := os.environ.get(VARIABLE):
        return Path(named)
    try:
        folder = user_cache_path("sdpa-verify", appauthor=False)
    except RuntimeError as error:
        raise StoreError(f"store: there is no cache folder ({error}); give --store PATH") from error
    if not folder.is_absolute():
        raise StoreError("store: there is no cache folder without a home; give --store PATH")
    return folder / "store.sqlite"


class Store:
    """The store in one file, made if there is none; for one thread.

    ``complain`` gets one line when it fails later on, after which nothing more is read or written.

    Raises:
        StoreError: it cannot be opened or written, or is another program's file.
    """

    def __init__(self, path: Path, complain: Callable[[str], None] = lambda _line: None) -> None:
        self.path, self._complain = path, complain
        self._connection: sqlite3.Connection | None = None
        with contextlib.ExitStack() as opening, _as_store_error(path):
            opening.callback(self.close)
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, _PATIENCE_S, isolation_level=None)
            self._prepare(self._connection)
            opening.pop_all()

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Make a store of a file without content or of an earlier one; leave another program's file alone."""
        # Both in one transaction: another run may be making a store of it just now.
        connection.execute("BEGIN")
        (mark,) = connection.execute("PRAGMA application_id").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        connection.execute("COMMIT")
        if mark not in {_APPLICATION, _EARLIER} and tables:
            raise StoreError(
                f"store {self.path}: is another program's file; give --store another path, or remove it"
            )
        self._write_ahead(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("BEGIN IMMEDIATE")
        (mark,) = connection.execute("PRAGMA application_id").fetchone()
        if mark == _EARLIER:
            connection.execute("DROP TABLE IF EXISTS rows")
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute("CREATE TABLE IF NOT EXISTS rows (key BLOB PRIMARY KEY, content BLOB NOT NULL)")
        connection.execute("COMMIT")

    def _write_ahead(self, connection: sqlite3.Connection) -> None:
        """Let others read while one writes; for this one change SQLite does not wait by itself."""
        until = time.monotonic() + _PATIENCE_S
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > until:
                    raise
                time.sleep(0.01)
            else:
                return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; what was put there is written already."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):
                connection.close()

    def get(self, key: bytes) -> bytes | None:
        """Return what is kept under ``key``, None if there is nothing."""
        rows = self._attempt("SELECT content FROM rows WHERE key = ?", key)
        return rows[0][0] if rows else None

    def put(self, key: bytes, content: bytes) -> None:
        """Keep ``content`` under ``key``; it is there for others at once, and outlives a kill."""
        self._attempt("INSERT OR REPLACE INTO rows VALUES (?, ?)", key, content)

    def size(self) -> tuple[int, int]:
        """Return the number of rows, and of the bytes that they hold.

        Raises:
            StoreError: the file cannot be read.
        """
        ((rows, size),) = self._execute("SELECT count(*), coalesce(sum(length(content)), 0) FROM rows")
        return rows, size

    def clear(self) -> None:
        """Remove all rows, and give the room back.

        Raises:
            StoreError: the file cannot be written.
        """
        self._execute("DELETE FROM rows")
        self._execute("VACUUM")

    def _attempt(self, statement: str, *values: bytes) -> list[tuple[Any, ...]]:
        """Return the rows that a statement leads to; none once the store has failed, which is said once."""
        if self._connection is None:
            return []
        try:
            return self._execute(statement, *values)
        except StoreError as error:
            self._complain(f"{error}; continuing without it")
            self.close()
            return []

    def _execute(self, statement: str, *values: bytes) -> list[tuple[Any, ...]]:
        if self._connection is None:
            raise StoreError(f"store {self.path}: is closed")
        with _as_store_error(self.path):
            return self._connection.execute(statement, values).fetchall()


@contextlib.contextmanager
def _as_store_error(path: Path) -> Iterator[None]:
    """Say in one line what is wrong with the store at ``path``, and what helps."""
    try:
        yield
    except (sqlite3.Error, OSError, ValueError) as error:
        raise StoreError(f"store {path}: unusable ({_reason(error)}); {_fix(error)}") from error


def _reason(error: Exception) -> str:
    """Return what is wrong in the system's words, in one line: SQLite quotes what it cannot read."""
    return " ".join(one_line(str(getattr(error, "strerror", None) or error)).split())


def _fix(error: Exception) -> str:
    """Return what helps: a damaged file may go, one that is locked or out of reach is none the worse."""
    if "locked" in str(error):
        return "another program holds it: wait for that, or give --store another path"
    if getattr(error, "sqlite_errorname", "").startswith(("SQLITE_READONLY", "SQLITE_FULL")):
        return "free space or allow writing there, or give --store another path"
    is_damaged = isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)
    return f"{'remove it or ' if is_damaged else ''}give --store another path"
