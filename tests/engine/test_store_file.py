"""The file of a store: what is opened, what is left alone, and what is said to help."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import TYPE_CHECKING

import pytest

from verify.engine import store_file as module
from verify.engine.store import Store
from verify.engine.store_file import default_path, open_file
from verify.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY = bytes(32)


@pytest.fixture
def path(tmp_path: Path) -> Path:
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
    path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, fix: str
) -> None:
    """One that is out of reach for a while holds what is still wanted."""

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(module, "_prepare", fail)
    with pytest.raises(StoreError) as raised:
        Store(path)
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


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    """One line says so."""
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    with pytest.raises(StoreError, match=r"unusable .*\); give --store another path"):
        Store(folder / "store.sqlite")


def test_a_folder_in_its_place(tmp_path: Path) -> None:
    """A path that is a folder, or under a file, is no store."""
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

    def opened(path: Path) -> bool:
        together.wait()
        with contextlib.closing(open_file(path).connection):
            return True

    with ThreadPoolExecutor(4) as pool:
        for number in range(60):
            assert list(pool.map(opened, [tmp_path / f"{number}.sqlite"] * 4)) == [True] * 4
