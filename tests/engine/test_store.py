"""The store: what is got is what was put, and whatever is wrong with its file is one line."""

import os
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from threading import Barrier

import pytest

from tests.tool import ROOT
from verify.engine import store as module
from verify.engine.store import Store, default_path
from verify.errors import StoreError
from verify.text.escapes import CONTROLS

KEYS = [bytes([number]) * 32 for number in range(9)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where a store with three rows is."""
    place = tmp_path / "sub" / "store.sqlite"
    with Store(place) as store:
        for key in KEYS[:3]:
            store.put(key, key * 100)
    return place


def rows(path: Path) -> int:
    """Return how many rows a store has, none where it is just being made."""
    with closing(sqlite3.connect(path, 5)) as connection, suppress(sqlite3.OperationalError):
        return len(connection.execute("SELECT key FROM rows").fetchall())
    return 0


def test_what_is_put_is_got(path: Path) -> None:
    """At once, and by another run that has the store open; what is there stays."""
    with Store(path) as store, Store(path) as other:
        assert [store.get(key) for key in KEYS[:4]] == [*(key * 100 for key in KEYS[:3]), None]
        store.put(KEYS[4], b"{}")
        store.put(KEYS[0], b"again")
        assert (other.get(KEYS[4]), other.get(KEYS[0])) == (b"{}", KEYS[0] * 100)


@pytest.mark.parametrize("part", [0.0, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("noise", [False, True])
def test_a_damaged_file_is_one_line(path: Path, part: float, noise: bool) -> None:
    """It is found when the store is opened or read, and nothing is raised but a StoreError."""
    content = path.read_bytes()
    left = int(part * len(content))
    path.write_bytes(content[:left] + (os.urandom(len(content) - left) if noise else b""))
    said = f"store {path}: "
    try:
        with Store(path) as store:
            for key in KEYS[:3]:
                store.get(key)
            store.put(KEYS[5], b"new")
    except StoreError as error:
        said = str(error)
    assert said.startswith(f"store {path}: ")
    assert not CONTROLS.search(said)


def test_what_is_no_store_is_left_alone(tmp_path: Path) -> None:
    """A text, a folder, or a place under a file."""
    text = tmp_path / "notes.txt"
    text.write_text("a line\n" * 300)
    for place in (text, tmp_path, text / "store.sqlite"):
        with pytest.raises(StoreError, match="unusable"):
            Store(place)
    assert text.read_text() == "a line\n" * 300


def test_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment says so, else it is in the user's cache folder; without a home there is none."""
    assert default_path() == Path(os.environ[module.VARIABLE])
    monkeypatch.delenv(module.VARIABLE)
    assert default_path().name == "store-2.sqlite"
    monkeypatch.setattr(module, "user_cache_path", lambda *_, **__: Path("~/.cache"))
    with pytest.raises(StoreError, match="without a home; give --store PATH"):
        default_path()


def test_several_make_a_store_at_once(tmp_path: Path) -> None:
    """None takes it for locked, while another one makes a store of it."""
    together = Barrier(4)

    def get(path: Path) -> bytes | None:
        together.wait()
        with Store(path) as store:
            return store.get(KEYS[0])

    with ThreadPoolExecutor(4) as pool:
        for number in range(20):
            assert list(pool.map(get, [tmp_path / f"{number}.sqlite"] * 4)) == [None] * 4


WRITER = """
import sys
from pathlib import Path
from verify.engine.store import Store
with Store(Path(sys.argv[1])) as store:
    for number in range(200):
        store.put(number.to_bytes(32, "big"), bytes(1600))
    if sys.argv[2] == "hang":
        print("ready", flush=True)
        sys.stdin.read()
"""


@pytest.mark.slow
def test_two_processes_share_a_store_and_one_is_killed(tmp_path: Path) -> None:
    """All rows of both are there."""
    path = tmp_path / "store.sqlite"
    hanging, ending = (
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), end],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        for end in ("hang", "end")
    )
    assert hanging.stdout is not None
    assert hanging.stdout.readline() == "ready\n"
    hanging.kill()
    hanging.communicate()
    assert ending.communicate(timeout=60)[0] == ""
    assert rows(path) == 200
