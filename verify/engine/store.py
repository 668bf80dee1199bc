"""Keeps finished chunks, checked derivations and settled claims, each under a hash of all it depends on.

One file of SQLite in its write-ahead mode, so that several runs may share it. Every row has a checksum of its
own, which is verified when it is read. A store saves time and decides nothing: where it cannot be read or
written a run goes on without it, and says so in one line. So it does where this tool's code is edited
meanwhile: it is not known then which code has computed what.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple, Self, TypeVar

from platformdirs import user_cache_path
from pydantic import ValidationError

from verify.engine.keys import is_as_loaded
from verify.errors import StoreError, what_is_wrong
from verify.evidence import ClaimRecord, DerivationRecord, Proof, Settings, digest_of
from verify.evidence.contradictions import contradictions_of_claim, contradictions_of_derivation
from verify.montecarlo.blocks import Sums
from verify.text.escapes import one_line

LARGEST = 2 * 10**9
"""Bytes of rows that a store keeps; beyond them those go that were used least recently."""

_EVERY_S = 0.5  # seconds after which rows are written at the latest: what a killed run has lost
_MANY = 400  # keys of one query


@dataclass(frozen=True)
class Contents:
    """Rows and bytes that a store holds by kind, and how many rows are damaged."""

    path: Path
    rows: dict[str, int]
    sizes: dict[str, int]
    damaged: int


class Store:
    """The store in one file, for one thread; rows are written a few at a time.

    ``complain`` gets one line where something is wrong with it. After that nothing is written, nor read
    unless the disk is merely full or mounted for reading.

    Raises:
        StoreError: it cannot be opened, or is not a store.
    """

    def __init__(
        self,
        path: Path,
        complain: Callable[[str], None] = lambda _line: None,
        *,
        largest: int = LARGEST,
    ) -> None:
        self.path = path
        self._complain, self._largest = complain, largest
        self._waiting: dict[bytes, StoreRow] = {}
        self._used: set[bytes] = set()
        self._gone: set[bytes] = set()
        self._has_told = False
        self._damaged: set[bytes] = set()
        self._since = time.monotonic()
        self._connection: sqlite3.Connection | None
        with as_store_error(path):
            self._connection, self._is_writable = open_file(path)
        if not self._is_writable:
            complain(f"store {path}: can be read and not written; nothing is added to it")
        self._is_current()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write what is waiting, say how many damaged rows were met, and close the file."""
        self.flush()
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None
            if self._damaged:
                rows = _counted(len(self._damaged))
                self._complain(f"store {self.path}: {rows} damaged, so computed again")

    def get(self, kind: str, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return what is kept under those of ``keys`` that there are; a damaged row is none, and counted."""
        found: dict[bytes, bytes] = {}
        if self._connection is None:
            return found
        try:
            for start in range(0, len(keys), _MANY):
                some = keys[start : start + _MANY]
                marks = ",".join("?" * len(some))
                query = f"SELECT key, content, checksum FROM rows WHERE kind = ? AND key IN ({marks})"  # noqa: S608 - question marks
                for key, content, checksum in self._connection.execute(query, (kind, *some)):
                    if checksum == checksum_of(key, kind, content):
                        found[key] = content
                    else:
                        self._damaged.add(key)
        except (sqlite3.Error, OSError) as error:
            self._give_up(error)
        if self._is_writable:
            self._used |= found.keys()
        return found

    def put(self, kind: str, key: bytes, content: bytes) -> None:
        """Keep ``content`` under ``key``; it is written soon."""
        if self._connection is not None and self._is_writable:
            self._waiting[key] = StoreRow(key, kind, content)
            if time.monotonic() - self._since > _EVERY_S:
                self.flush()

    def remove(self, keys: Iterable[bytes], why: str = "") -> None:
        """Remove rows that are not what they should be; ``why`` is said of the first ones only."""
        if why and not self._has_told:
            self._complain(f"store {self.path}: a row {why}; it is removed, and computed again")
            self._has_told = True
        self._gone |= set(keys)
        self._used -= self._gone

    def flush(self) -> None:
        """Write what is waiting; what was used least recently goes where there is too much."""
        waits = self._is_writable and (self._waiting or self._used or self._gone)
        if self._connection is None or not waits or not self._is_current():
            return
        try:
            with transaction(self._connection) as run:
                (last,) = run.execute("SELECT coalesce(max(used), 0) FROM rows").fetchone()
                run.executemany("DELETE FROM rows WHERE key = ?", [(key,) for key in self._gone])
                run.executemany("UPDATE rows SET used = ? WHERE key = ?", [(last + 1, k) for k in self._used])
                run.executemany(
                    "INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?, ?)",
                    [(*row.written, last + 1) for row in self._waiting.values()],
                )
                self._shrink(run)
        except (sqlite3.Error, OSError) as error:
            if is_unwritable(error):
                self._write_no_more(error)
            else:
                self._give_up(error)
        self._waiting, self._used, self._gone, self._since = {}, set(), set(), time.monotonic()

    def _shrink(self, run: sqlite3.Connection) -> None:
        """Remove what was used least recently until a tenth of the room is free; the clock plays no part."""
        (size,) = run.execute("SELECT coalesce(sum(length(content)), 0) FROM rows").fetchone()
        if size <= self._largest:
            return
        going = []
        for key, length in run.execute("SELECT key, length(content) FROM rows ORDER BY used"):
            if size <= 0.9 * self._largest:
                break
            going.append((key,))
            size -= length
        run.executemany("DELETE FROM rows WHERE key = ?", going)

    def wrong(self, fault_of: Callable[[StoreRow], str]) -> Iterator[tuple[StoreRow, str]]:
        """Yield the rows that are damaged, or have a fault, with what it is.

        Raises:
            StoreError: the file cannot be read.
        """
        for row, is_sound in self._all():
            if why := fault_of(row) if is_sound else "is damaged":
                yield row, why

    def contents(self) -> Contents:
        """Return how much there is, after looking at every row.

        Raises:
            StoreError: the file cannot be read.
        """
        counts: dict[str, int] = {}
        sizes: dict[str, int] = {}
        damaged = 0
        for row, is_sound in self._all():
            counts[row.kind] = counts.get(row.kind, 0) + 1
            sizes[row.kind] = sizes.get(row.kind, 0) + len(row.content)
            damaged += not is_sound
        return Contents(self.path, counts, sizes, damaged)

    def merge(self, other: Store, fault_of: Callable[[StoreRow], str] = lambda _row: "") -> int:
        """Take over the rows of another store that are sound and have no fault, and return how many are new.

        Raises:
            StoreError: one of the files cannot be read or written.
        """
        with as_store_error(self.path), transaction(self._opened_connection()) as run:
            (before,) = run.execute("SELECT count(*) FROM rows").fetchone()
            (last,) = run.execute("SELECT coalesce(max(used), 0) FROM rows").fetchone()
            for row, is_sound in other._all():
                if is_sound and not fault_of(row):
                    run.execute("INSERT OR IGNORE INTO rows VALUES (?, ?, ?, ?, ?)", (*row.written, last + 1))
            (after,) = run.execute("SELECT count(*) FROM rows").fetchone()
            self._shrink(run)
        return int(after - before)

    def clear(self) -> None:
        """Remove all rows, and give the room back.

        Raises:
            StoreError: the file cannot be written.
        """
        with as_store_error(self.path, "free space or allow writing there, or remove the file"):
            connection = self._opened_connection()
            connection.execute("DELETE FROM rows")
            connection.execute("VACUUM")

    def _all(self) -> Iterator[tuple[StoreRow, bool]]:
        with as_store_error(self.path):
            query = "SELECT key, kind, content, checksum FROM rows"
            for key, kind, content, checksum in self._opened_connection().execute(query):
                yield StoreRow(key, kind, content), checksum == checksum_of(key, kind, content)

    def _opened_connection(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StoreError(f"store {self.path}: is closed")
        return self._connection

    def _is_current(self) -> bool:
        """Return whether keys still say which code is at work here; give up where they do not."""
        try:
            if is_as_loaded():
                return True
            self._give_up(StoreError("this tool's code has changed since it was loaded"))
        except OSError as error:
            self._give_up(error)
        return False

    def _write_no_more(self, error: Exception) -> None:
        """Go on reading what is there, and say why nothing is added."""
        self._complain(
            f"store {self.path}: cannot be written ({reason(error)}), so nothing more is added to it; "
            "free space or allow writing there"
        )
        self._is_writable = False

    def _give_up(self, error: Exception) -> None:
        """Go on without: close the file and say why."""
        self._complain(f"store {self.path}: unusable ({reason(error)}); continuing without it")
        connection, self._connection = self._connection, None
        self._waiting, self._used = {}, set()
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):
                connection.close()


def _counted(rows: int) -> str:
    return "1 row was" if rows == 1 else f"{rows} rows were"


VARIABLE = "SDPA_VERIFY_STORE"
"""The environment variable that says where the store is."""

_APPLICATION = 0x5D9A_0001  # what marks a file of SQLite as a store, in its header

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


class StoreRow(NamedTuple):
    """A value kept under a key; ``kind`` is "chunk", "derivation" or "claim"."""

    key: bytes
    kind: str
    content: bytes

    @property
    def name(self) -> str:
        """What it is called in messages: its kind and the first digits of its key."""
        return f"{self.kind} {self.key.hex()[:12] if isinstance(self.key, bytes) else self.key!r}"

    @property
    def written(self) -> tuple[bytes, str, bytes, bytes]:
        """The row as it is written, with its checksum."""
        return (*self, checksum_of(*self))


class Opened(NamedTuple):
    """A connection to a store's file, and whether it can be written."""

    connection: sqlite3.Connection
    is_writable: bool


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
    if tables and set(connection.execute(_TABLES)) != _tables_of_a_store():
        raise StoreError(f"store {path}: has other tables than a store; give --store another path")
    _write_ahead(connection)
    connection.execute("PRAGMA synchronous = NORMAL")
    if not tables:
        with transaction(connection) as run:
            run.execute(f"PRAGMA application_id = {_APPLICATION}")
            for statement in filter(str.strip, _SCHEMA.split(";")):
                run.execute(statement)


_TABLES = "SELECT type, name, tbl_name, sql FROM sqlite_master"


@cache
def _tables_of_a_store() -> set[tuple[str, str, str, str | None]]:
    """Return what SQLite keeps of our schema: a view in a table's place may have rows without end."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(_SCHEMA)
        return set(connection.execute(_TABLES))


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
    """Return what is wrong, in the words of the system, in one line: SQLite quotes what it cannot read."""
    return " ".join(one_line(str(getattr(error, "strerror", None) or error)).split())


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


_Kind = TypeVar("_Kind", ClaimRecord, DerivationRecord)
_FAILED = "its derivation failed, and such are not kept"
_DIGITS = 15  # the most that a number of draws has


def chunk_of(key: bytes, content: bytes) -> Sums:
    """Return the sums that a row holds.

    Raises:
        ValueError: it holds none, of another key, or what no blocks have for sums.
    """
    sums = Sums.from_bytes(_own(key, content))
    if wrong := sums.contradiction():
        raise ValueError(wrong)
    return sums


def derivation_of(key: bytes, content: bytes) -> str:
    """Return the record of a checked derivation, as JSON, that a row holds.

    Raises:
        ValueError: it holds none, of another key, one that failed, or one that contradicts itself.
    """
    text = _own(key, content).decode()
    record = _validated(DerivationRecord, text)
    if record.status is Proof.FAILED:
        raise ValueError(_FAILED)
    if wrong := next(contradictions_of_derivation(record), ""):
        raise ValueError(wrong)
    return text


def claim_of(key: bytes, content: bytes, chosen: Settings | None = None) -> tuple[ClaimRecord, int]:
    """Return the record of a settled claim that a row holds, and how many numbers it took.

    Without the settings ``chosen``, what follows from them is not judged.

    Raises:
        ValueError: it holds none, of another key, a changed or failed one, or one that contradicts itself.
    """
    draws, _, text = _own(key, content).decode().partition("\n")
    if not (draws.isascii() and draws.isdecimal() and len(draws) <= _DIGITS):
        raise ValueError("it does not say how many numbers it took")
    record = _validated(ClaimRecord, text)
    if record.derivation.status is Proof.FAILED:
        raise ValueError(_FAILED)
    if record.digest != digest_of(record):
        raise ValueError(f"claim {record.id}: its digest does not fit its content")
    if wrong := next(contradictions_of_claim(record, chosen), ""):
        raise ValueError(f"claim {record.id}: {wrong}")
    return record, int(draws)


_READERS = {"chunk": chunk_of, "derivation": derivation_of, "claim": claim_of}


def fault_of(row: StoreRow) -> str:
    """Return what is wrong with the content of a row, empty where nothing is."""
    if row.kind not in _READERS:
        return f"there is no kind {row.kind!r}"
    try:
        _READERS[row.kind](row.key, row.content)
    except ValueError as error:
        return str(error)
    return ""


def _own(key: bytes, content: bytes) -> bytes:
    if not content.startswith(key):
        raise ValueError("it was made for another key")
    return content[len(key) :]


def _validated(kind: type[_Kind], text: str) -> _Kind:
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        raise ValueError(what_is_wrong(error)) from error
