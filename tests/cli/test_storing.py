"""The store on the command line: shown, verified, exported, merged, cleared; and what a run says of it."""

import contextlib
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tool import Ended
from verify.engine.store import Store, transaction
from verify.errors import StoreError
from verify.evidence.load import load

Tool = Callable[..., Ended]


def rows(store: Path) -> list[tuple[object, ...]]:
    """Return what a store holds, but for when each row was last used."""
    with contextlib.closing(sqlite3.connect(store)) as opened:
        return opened.execute("SELECT key, kind, content, checksum FROM rows ORDER BY key").fetchall()


RUN = ("run", "variance-of-multiple", "--profile", "quick", "--workers", 1, "--out")


@pytest.fixture
def store(tool: Tool, tmp_path: Path) -> Path:
    """Return the store that a run has made."""
    path = tmp_path / "made" / "store.sqlite"
    assert tool(*RUN, tmp_path / "first", "--store", path).status == 0
    return path


def test_a_run_says_what_it_took_from_the_store(tool: Tool, store: Path, tmp_path: Path) -> None:
    """On standard error and in its record, outside the digests; --fresh takes nothing and keeps nothing."""
    before = rows(store)
    warm = tool(*RUN, tmp_path / "warm", "--store", store)
    fresh = tool(*RUN, tmp_path / "fresh", "--fresh")
    assert "from the store: 1 derivation and 100% of the draws" in warm.err.splitlines()
    assert "from the store" not in fresh.err
    first, again, none = (load(tmp_path / name / "results.json") for name in ("first", "warm", "fresh"))
    assert [one.claims[0].digest for one in (again, none)] == [first.claims[0].digest] * 2
    assert first.run.stored is not None
    assert again.run.stored is not None
    assert (again.run.stored.drawn, again.run.stored.draws) == (0, first.run.stored.drawn)
    assert none.run.stored is None
    assert rows(store) == before


def test_by_default_it_is_where_the_environment_says(tool: Tool, tmp_path: Path) -> None:
    """A run makes one there."""
    assert tool("store", "show").complaint.endswith("there is none; a run makes one, or give --store FILE")
    assert tool(*RUN, tmp_path).status == 0
    assert tool("store", "show").out.startswith(os.environ["SDPA_VERIFY_STORE"])


def test_a_store_that_is_none_is_no_reason_to_stop(tool: Tool, tmp_path: Path) -> None:
    """One line says so, and the run goes on without; what lies there is left alone."""
    notes = tmp_path / "notes.txt"
    notes.write_text("mine\n" * 200)
    ended = tool(*RUN, tmp_path / "out", "--store", notes)
    assert ended.status == 0
    said = [line for line in ended.err.splitlines() if line.startswith("store ")]
    assert len(said) == 1
    assert said[0].endswith("continuing without it")
    assert notes.read_text() == "mine\n" * 200
    assert tool("store", "clear", "--store", notes).complaint.startswith(f"store {notes}: unusable")
    assert notes.read_text() == "mine\n" * 200
    notes.write_text("")
    assert "there is none" in tool("store", "merge", notes).complaint
    assert notes.read_text() == ""


def test_fresh_with_a_store_is_refused(tool: Tool, tmp_path: Path) -> None:
    """They contradict each other."""
    ended = tool(*RUN, tmp_path, "--fresh", "--store", tmp_path / "x")
    assert ended.status == 2
    assert "--fresh uses no store; leave out --store" in ended.complaint


def test_a_damaged_row_is_found_and_drawn_again(tool: Tool, store: Path, tmp_path: Path) -> None:
    """The next run says so, draws it and keeps it."""
    assert tool("store", "verify", "--store", store).status == 0
    with sqlite3.connect(store) as connection:
        connection.execute("UPDATE rows SET content = content || x'00'")
    connection.close()
    again = tool(*RUN, tmp_path / "again", "--store", store)
    assert "damaged, so computed again" in again.err
    assert tool("store", "verify", "--store", store).status == 0
    first, other = (load(tmp_path / name / "results.json") for name in ("first", "again"))
    assert other.claims[0].digest == first.claims[0].digest


def test_wrong_rows_are_named_and_removed(tool: Tool, store: Path, tmp_path: Path) -> None:
    """A damaged one, and one that contradicts itself under a sound checksum; ``verify`` ends with 1, once."""
    with Store(store) as opened:
        found = {row.kind: row for row, _ in opened._all()}
        chunk, claim = found["chunk"], found["claim"]
        forged = claim._replace(content=claim.content.replace(b'"level":0.99', b'"level":1.99', 1))
        assert opened._connection is not None
        with transaction(opened._connection) as run:
            run.execute("UPDATE rows SET checksum = x'00' WHERE key = ?", (chunk.key,))
            run.execute("INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?, 1)", forged.written)
    other = tmp_path / "other.sqlite"
    assert ": 0 new rows" not in tool("store", "merge", store, "--store", other).out
    assert tool("store", "verify", "--store", other).status == 0
    ended = tool("store", "verify", "--store", store)
    assert ended.status == 1
    assert f"{chunk.name}: is damaged" in ended.out.splitlines()
    assert f"{claim.name}: checks.0.level: " in ended.out
    assert " rows, 2 wrong, removed; runs compute them again" in ended.out
    assert tool("store", "verify", "--store", store).out.endswith(" rows, 0 wrong\n")


def test_a_shard_is_exported_and_merged(tool: Tool, store: Path, tmp_path: Path) -> None:
    """What one machine drew, another takes up; a second merge finds nothing new; clearing removes all."""
    shard, other = tmp_path / "shard.sqlite", tmp_path / "other.sqlite"
    assert tool("store", "export", shard, "--store", store).status == 0
    assert tool("store", "export", shard, "--store", store).complaint.endswith("give another name")
    first, second = (tool("store", "merge", shard, "--store", other).out for _ in range(2))
    assert "0 new rows" not in first
    assert second == f"{shard}: 0 new rows\n"
    warm = tool(*RUN, tmp_path / "warm", "--store", other)
    assert "100% of the draws" in warm.err
    assert "rows removed" in tool("store", "clear", "--store", other).out
    assert tool("store", "show", "--store", other).out.splitlines()[1:] == ["damaged: 0"]


def test_a_merge_of_what_is_not_there_leaves_nothing(tool: Tool, store: Path, tmp_path: Path) -> None:
    """Not even an empty store, and nothing of the others that were named."""
    other = tmp_path / "other.sqlite"
    ended = tool("store", "merge", store, tmp_path / "missing.sqlite", "--store", other)
    assert "missing.sqlite: there is none" in ended.complaint
    assert not other.exists()


def test_without_a_command_one_line_says_so(tool: Tool) -> None:
    """The help is asked for by name."""
    assert tool("store").complaint.startswith("Missing command; see `")


def test_an_export_that_fails_leaves_nothing(
    tool: Tool, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shard is whole or not there; what was wrong is one line."""

    def fail(*_: object) -> int:
        raise StoreError("the disk is full")

    monkeypatch.setattr(Store, "merge", fail)
    assert tool("store", "export", tmp_path / "shards" / "one.sqlite", "--store", store).complaint
    assert list((tmp_path / "shards").iterdir()) == []
