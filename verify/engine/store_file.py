"""The file of a store: where it is, how it is opened, what a row of it is, and what helps where it fails."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from platformdirs import user_cache_path

from verify.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

VARIABLE = "SDPA_VERIFY_STORE"
"""The environment variable that says where the store is."""

_APPLICATION = 0x5D9A_0001
"""What marks a file of SQLite as a store, in its header."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS rows (
    key BLOB NOT NULL UNIQUE, kind TEXT NOT NULL, content BLOB NOT NULL, checksum BLOB NOT NULL,
    used INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS by_use ON rows (used);
"""
_PATIENCE_S = 5.0

_UNWRITABLE = ("SQLITE_READONLY", "SQLITE_FULL")
"""How the names of SQLite's errors begin where only writing has failed."""

_UNOPENED = (*_UNWRITABLE, "SQLITE_CANTOPEN", "SQLITE_IOERR")
"""The same where a file that cannot be written is opened: writers share memory, which is a file as well."""


class Row(NamedTuple):
    """A value kept under a key; ``kind`` is "chunk", "derivation" or "claim"."""

    key: bytes
    kind: str
    content: bytes

    @property
    def written(self) -> tuple[bytes, str, bytes, bytes]:
        """The row as it is written, with its checksum."""
        return (*self, checksum_of(*self))


class Opened(NamedTuple):
    """A connection to a store's file, and whether it can be written."""

    connection: sqlite3.Connection
    is_writable: bool


def default_path() -> Path:
    """Return where the store is when nobody says: what the environment says, else the user's cache folder.

    Raises:
        StoreError: nobody has a home here.
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


def open_file(path: Path) -> Opened:
    """Return a connection to the store at ``path``, which is made if there is none.

    Where nothing can be written, as on a disk that is full or mounted for reading, one that reads what is
    there.

    Raises:
        StoreError: it is another program's file.
        sqlite3.Error, OSError: it cannot be opened.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return Opened(_connected(path, "rwc"), is_writable=True)
    except sqlite3.OperationalError as error:
        if not (path.is_file() and _is_one_of(_UNOPENED, error)):
            raise
    return Opened(_connected(path, "ro&immutable=1"), is_writable=False)


def _connected(path: Path, mode: str) -> sqlite3.Connection:
    place = f"{path.absolute().as_uri()}?mode={mode}"
    connection = sqlite3.connect(place, _PATIENCE_S, isolation_level=None, uri=True)
    # What damage has made a text of is no reason to read nothing else.
    connection.text_factory = lambda content: content.decode(errors="replace")
    try:
        _prepare(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Make a store of a file without content; leave every other program's file as it is."""
    # Both of one moment: another process may be making a store of it just now.
    connection.execute("BEGIN")
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    connection.execute("COMMIT")
    if mark != _APPLICATION and tables:
        raise StoreError(f"store {path}: is another program's file; give --store another path")
    _write_ahead(connection)
    connection.execute("PRAGMA synchronous = NORMAL")
    if not tables:
        with transaction(connection) as run:
            run.execute(f"PRAGMA application_id = {_APPLICATION}")
            for statement in filter(str.strip, _SCHEMA.split(";")):
                run.execute(statement)


def _write_ahead(connection: sqlite3.Connection) -> None:
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


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Yield the connection; what is written is there as a whole at the end, or not at all."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def checksum_of(key: object, kind: object, content: object) -> bytes:
    """Return the checksum of a row; of one whose fields are no longer what they were, one that fits none."""
    if not (isinstance(key, bytes) and isinstance(kind, str) and isinstance(content, bytes)):
        return b""
    return hashlib.sha256(b"\0".join((key, kind.encode(), content))).digest()


@contextlib.contextmanager
def as_store_error(path: Path, unwritable: str = "") -> Iterator[None]:
    """Say in one line what is wrong with the store at ``path``, and what helps.

    ``unwritable`` is what helps where only writing has failed, if that is not to make it possible.

    Raises:
        StoreError: in place of what SQLite or the system raises.
    """
    try:
        yield
    except (sqlite3.Error, OSError, ValueError) as error:
        fix = unwritable if unwritable and is_unwritable(error) else _fix(error)
        raise StoreError(f"store {path}: unusable ({reason(error)}); {fix}") from error


def reason(error: Exception) -> str:
    """Return what is wrong, in the words of the system."""
    return str(getattr(error, "strerror", None) or error)


def is_unwritable(error: Exception) -> bool:
    """Return whether only writing has failed: the disk is full, or is mounted for reading."""
    return _is_one_of(_UNWRITABLE, error)


def _is_one_of(names: tuple[str, ...], error: Exception) -> bool:
    name: str = getattr(error, "sqlite_errorname", "")
    return name.startswith(names)


def _fix(error: Exception) -> str:
    """Return what helps: a damaged file may go, one that is locked or out of reach is none the worse."""
    if "locked" in str(error):
        return "another program holds it: wait for that, or give --store another path"
    if is_unwritable(error):
        return "free space or allow writing there, or give --store another path"
    is_damaged = isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)
    return f"{'remove it or ' if is_damaged else ''}give --store another path"
