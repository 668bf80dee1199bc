"""The store: what is read is what was written, and whatever happens to its file, nothing wrong is read."""

import contextlib
import errno
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from tests.tool import ROOT
from verify.engine import store as module
from verify.engine.store import Store, default_path, open_file
from verify.errors import StoreError
from verify.text.escapes import CONTROLS

KEYS = [bytes([number]) * 32 for number in range(9)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where a store with three rows is."""
    place = tmp_path / "sub" / "store.sqlite"
    with Store(place) as store:
        for key in KEYS[:3]:
            store.put("chunk", key, key * 100)
    return place


def test_what_is_put_is_got(path: Path) -> None:
    """Before it is written and after, under its kind alone, and again by another process's connection."""
    with Store(path) as store, Store(path) as other:
        assert store.get("chunk", KEYS) == {key: key * 100 for key in KEYS[:3]}
        assert store.get("derivation", KEYS) == {}
        store.put("derivation", KEYS[4], b"{}")
        store.flush()
        assert other.get("derivation", KEYS) == {KEYS[4]: b"{}"}
        contents = other.contents()
        assert (contents.rows, contents.damaged) == ({"chunk": 3, "derivation": 1}, 0)
        assert contents.sizes == {"chunk": 9600, "derivation": 2}


def test_a_damaged_row_is_none(path: Path) -> None:
    """All are said in one line, however often it is asked; they are written again, the others stay."""
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE rows SET content = ? WHERE key = ?", (b"x" * 3200, KEYS[1]))
        connection.execute("UPDATE rows SET content = 'text' WHERE key = ?", (KEYS[2],))
    connection.close()
    said: list[str] = []
    with Store(path, said.append) as store:
        for key in KEYS:
            assert store.get("chunk", [key]) == ({key: key * 100} if key == KEYS[0] else {})
        store.put("chunk", KEYS[1], b"new")
        store.put("chunk", KEYS[2], b"new")
    assert said == [f"store {path}: 2 rows were damaged, so computed again"]
    with Store(path) as store:
        assert store.contents().damaged == 0
        assert store.get("chunk", [KEYS[1]]) == {KEYS[1]: b"new"}


@pytest.mark.parametrize("part", [0.0, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("noise", [False, True])
def test_a_file_cut_or_overwritten_gives_nothing_wrong(path: Path, part: float, noise: bool) -> None:
    """What is still read is what was written; else one line says that there is no store."""
    with Store(path) as store:
        for key in KEYS:
            store.put("chunk", key, key * 400)
    content = path.read_bytes()
    kept = int(part * len(content))
    path.write_bytes(content[:kept] + (os.urandom(len(content) - kept) if noise else b""))
    said: list[str] = []
    with contextlib.ExitStack() as stack:
        try:
            store = stack.enter_context(Store(path, said.append))
        except StoreError as error:
            said.append(str(error))
        else:
            found = store.get("chunk", KEYS)
            assert all(found[key] == key * 400 for key in found)
            assert len(found) == len(KEYS) or said or part == 0
            store.put("chunk", KEYS[0], KEYS[0] * 400)
    assert all(str(path) in line and "\n" not in line for line in said)


def test_once_the_code_is_edited_nothing_is_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was computed before the edit and what after cannot be told apart: neither is written, nor read."""
    said: list[str] = []
    reason = "this tool's code has changed since it was loaded"
    with Store(path, said.append) as store:
        store.put("chunk", KEYS[5], b"of which code?")
        monkeypatch.setattr(module, "is_as_loaded", lambda: False)
    assert said == [f"store {path}: unusable ({reason}); continuing without it"]
    with Store(path, said.append) as store:
        assert store.get("chunk", KEYS) == {}
    assert said[1:] == said[:1]
    monkeypatch.undo()
    with Store(path) as store:
        assert set(store.get("chunk", KEYS)) == set(KEYS[:3])


def test_too_few_open_files_are_no_edit_of_the_code(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the code has changed cannot be told then, and that is what is said."""
    said: list[str] = []

    def refuse(*_: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with Store(path, said.append) as store:
        monkeypatch.setattr(os, "scandir", refuse)
        store.put("chunk", KEYS[5], b"x")
    assert said == [f"store {path}: unusable (Too many open files); continuing without it"]


ENDLESS = """
DROP TABLE rows;
CREATE VIEW rows AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)
SELECT x'00' AS key, 'chunk' AS kind, x'00' AS content, x'00' AS checksum, x AS used FROM n;
"""


@pytest.mark.parametrize(
    "script",
    [
        ENDLESS,
        "CREATE TRIGGER more AFTER INSERT ON rows BEGIN DELETE FROM rows; END",
        "CREATE TABLE more (x)",
        "DROP TABLE rows",
    ],
)
def test_only_a_stores_own_tables_are_read(path: Path, tmp_path: Path, script: str) -> None:
    """Whatever the mark in its header says: a merge would read a view with rows without end."""
    forged = tmp_path / "forged.sqlite"
    with Store(path) as store, Store(forged) as copy:
        copy.merge(store)
    with contextlib.closing(sqlite3.connect(forged)) as connection:
        connection.executescript(script)
        (left,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if left:
        with pytest.raises(StoreError, match=r"forged\.sqlite: has other tables than a store; give --store"):
            Store(forged)


def test_a_full_disk_ends_the_storing_and_not_the_reading(path: Path) -> None:
    """What cannot be written is lost to the store alone; it is said once, and what was there is read on."""
    said: list[str] = []
    with Store(path, said.append) as store:
        connection = store._connection
        assert connection is not None
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
        for _ in range(3):
            store.put("chunk", KEYS[5], bytes(10**6))
            store.flush()
        assert store.get("chunk", KEYS) == {key: key * 100 for key in KEYS[:3]}
    (line,) = said
    assert line == (
        f"store {path}: cannot be written (database or disk is full), so nothing more is added to it; "
        "free space or allow writing there"
    )
    with Store(path) as store:
        assert len(store.get("chunk", KEYS)) == 3


def test_what_cannot_be_cleared_may_be_removed(path: Path) -> None:
    """Even removing rows takes room; the line says what else helps."""
    with Store(path) as store:
        connection = store._connection
        assert connection is not None
        connection.execute("PRAGMA query_only = 1")
        with pytest.raises(
            StoreError, match=r"readonly.*; free space or allow writing there, or remove the file"
        ):
            store.clear()


def test_what_is_used_least_goes_first(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bounded store keeps what was read last, whatever the clock says."""
    with Store(path, largest=10_000) as store:
        store.get("chunk", [KEYS[0]])
        store.flush()
        monkeypatch.setattr(time, "time", lambda: 0.0)
        store.put("chunk", KEYS[7], KEYS[7] * 100)
        store.flush()
        left = store.get("chunk", KEYS)
    assert KEYS[0] in left
    assert KEYS[7] in left
    assert sum(map(len, left.values())) <= 9_000


WRITER = """
import sys
from pathlib import Path
from verify.engine.store import Store
with Store(Path(sys.argv[1]), print) as store:
    for number in range(200):
        key = number.to_bytes(32, "big")
        store.put("chunk", key, key * 50)
        store.flush()
    if sys.argv[2] == "hang":
        print("ready", flush=True)
        sys.stdin.read()
"""


def writer(path: Path, end: str) -> subprocess.Popen[str]:
    """Start a process that writes 200 rows."""
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), end],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


@pytest.mark.slow
def test_two_processes_share_a_store_and_one_is_killed(tmp_path: Path) -> None:
    """All rows of both are there and sound, the killed one's too."""
    path = tmp_path / "store.sqlite"
    one, two = writer(path, "hang"), writer(path, "end")
    assert one.stdout is not None
    assert one.stdout.readline() == "ready\n"
    one.kill()
    one.communicate()
    assert two.communicate(timeout=60)[0] == ""
    with Store(path) as store:
        assert (store.contents().rows, store.contents().damaged) == ({"chunk": 200}, 0)


def test_stores_are_merged(path: Path, tmp_path: Path) -> None:
    """Sound rows of the other are taken over, damaged ones are not; what was there stays."""
    with Store(tmp_path / "other.sqlite") as other, Store(path) as store:
        other.put("chunk", KEYS[0], b"is there already")
        other.put("chunk", KEYS[6], b"new")
        other.put("chunk", KEYS[7], b"damaged")
        other.flush()
        assert other._connection is not None
        other._connection.execute("UPDATE rows SET checksum = x'00' WHERE key = ?", (KEYS[7],))
        assert store.merge(other) == 1
        assert store.merge(other) == 0
        assert store.get("chunk", KEYS[5:]) == {KEYS[6]: b"new"}
        assert store.get("chunk", KEYS[:1]) == {KEYS[0]: KEYS[0] * 100}
        store.clear()
        assert store.contents().rows == {}


KEY = bytes(32)


@pytest.fixture
def row_path(tmp_path: Path) -> Path:
    """Return where a store with a row is."""
    place = tmp_path / "store.sqlite"
    with Store(place) as store:
        store.put("chunk", KEY, b"sums")
    return place


@pytest.fixture
def read_only() -> Iterator[Path]:
    """Yield where a store with a row is that can be read and not written, as on a disk mounted so."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "store.sqlite"
        with Store(place) as store:
            store.put("chunk", KEY, b"sums")
        place.chmod(0o444)
        Path(folder).chmod(0o555)
        user = os.geteuid()
        try:
            if user == 0:  # who may write everywhere
                os.seteuid(65534)
            yield place
        finally:
            os.seteuid(user)
            Path(folder).chmod(0o755)


@pytest.mark.parametrize(
    ("error", "fix"),
    [
        (sqlite3.DatabaseError("file is not a database"), "remove it or give --store another path"),
        (sqlite3.OperationalError("disk I/O error"), "give --store another path"),
        (sqlite3.OperationalError("database is locked"), "another program holds it: wait for that, or give"),
        (PermissionError(13, "Permission denied"), "give --store another path"),
    ],
)
def test_only_of_a_damaged_file_it_is_said_to_be_removed(
    row_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, fix: str
) -> None:
    """One that is out of reach for a while holds what is still wanted."""

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(module, "_prepare", fail)
    with pytest.raises(StoreError) as raised:
        Store(row_path)
    assert f"); {fix}" in str(raised.value)


def test_another_programs_file_is_left_alone(tmp_path: Path) -> None:
    """Neither its tables nor a text are touched."""
    text, database = tmp_path / "notes.txt", tmp_path / "other.sqlite"
    text.write_text("a line\n" * 300)
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()
    before = database.read_bytes()
    with pytest.raises(StoreError, match="another program's file"):
        Store(database)
    with pytest.raises(StoreError, match=r"unusable \(file is not a database\)"):
        Store(text)
    assert (database.read_bytes(), text.read_text()) == (before, "a line\n" * 300)


def test_damage_that_is_quoted_is_one_line(path: Path) -> None:
    """What SQLite cannot read of its tables may have several, and control characters."""
    path.write_bytes(path.read_bytes().replace(b"kind TEXT", b'kind "\x1bXT'))
    with pytest.raises(StoreError, match="malformed database schema") as caught:
        Store(path)
    assert not CONTROLS.search(str(caught.value))


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    """One line says so."""
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    with pytest.raises(StoreError, match=r"unusable .*\); give --store another path"):
        Store(folder / "store.sqlite")


def test_a_folder_in_its_place(tmp_path: Path) -> None:
    """A row_path that is a folder, or under a file, is no store."""
    (tmp_path / "file").write_text("")
    for place in (tmp_path, tmp_path / "file" / "store.sqlite"):
        with pytest.raises(StoreError, match="unusable"):
            Store(place)


def test_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment says so, else it is in the user's cache folder; without a home there is none."""
    assert default_path() == Path(os.environ[module.VARIABLE])
    monkeypatch.delenv(module.VARIABLE)
    assert default_path().name == "store.sqlite"
    monkeypatch.setattr(module, "user_cache_path", lambda *_, **__: Path("~/.cache"))
    with pytest.raises(StoreError, match="without a home; give --store PATH"):
        default_path()


@pytest.mark.skipif(os.name != "posix", reason="files have no such permissions")
def test_what_cannot_be_written_is_read(read_only: Path) -> None:
    """A run takes what is there, adds nothing, and says so once; the other commands say what stops them."""
    said: list[str] = []
    with Store(read_only, said.append) as store:
        assert store.get("chunk", [KEY]) == {KEY: b"sums"}
        store.put("chunk", b"1" * 32, b"more")
        assert store.contents().rows == {"chunk": 1}
        with pytest.raises(StoreError, match=r"readonly database.*allow writing there, or remove the file"):
            store.clear()
    assert said == [f"store {read_only}: can be read and not written; nothing is added to it"]
    assert [file.name for file in read_only.parent.iterdir()] == ["store.sqlite"]


def test_several_make_a_store_at_once(tmp_path: Path) -> None:
    """None takes it for another program's file, or for locked, while another one makes a store of it."""
    together = Barrier(4)

    def opened(row_path: Path) -> bool:
        together.wait()
        with contextlib.closing(open_file(row_path).connection):
            return True

    with ThreadPoolExecutor(4) as pool:
        for number in range(60):
            assert list(pool.map(opened, [tmp_path / f"{number}.sqlite"] * 4)) == [True] * 4
