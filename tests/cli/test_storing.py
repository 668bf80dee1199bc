"""The store on the command line: shown and cleared; and what a run says of it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tool import Ended
from verify.evidence.load import load

Tool = Callable[..., Ended]

RUN = ("run", "variance-of-multiple", "--profile", "quick", "--workers", 1, "--out")


@pytest.fixture
def store(tool: Tool, tmp_path: Path) -> Path:
    """Return the store that a run has made."""
    path = tmp_path / "made" / "store.sqlite"
    assert tool(*RUN, tmp_path / "first", "--store", path).status == 0
    return path


def test_a_run_says_what_it_took_from_the_store(tool: Tool, store: Path, tmp_path: Path) -> None:
    """On standard error and in its record, outside the digests; --fresh takes nothing and keeps nothing."""
    before = tool("store", "show", "--store", store).out
    warm = tool(*RUN, tmp_path / "warm", "--store", store)
    fresh = tool(*RUN, tmp_path / "fresh", "--fresh")
    assert "from the cache: 1 derivation and 100% of the draws" in warm.err.splitlines()
    assert "from the cache" not in fresh.err
    first, again, none = (load(tmp_path / name / "results.json") for name in ("first", "warm", "fresh"))
    assert [one.claims[0].digest for one in (again, none)] == [first.claims[0].digest] * 2
    assert first.run.stored is not None
    assert again.run.stored is not None
    assert (again.run.stored.drawn, again.run.stored.draws) == (0, first.run.stored.drawn)
    assert none.run.stored is None
    assert tool("store", "show", "--store", store).out == before


def test_by_default_it_is_where_the_environment_says(tool: Tool, tmp_path: Path) -> None:
    """A run makes one there; it is shown with its size, and cleared."""
    place = os.environ["SDPA_VERIFY_STORE"]
    assert tool("store", "show").complaint.endswith("there is none; a run makes one, or give --store FILE")
    assert tool(*RUN, tmp_path).status == 0
    rows = tool("store", "show").out.removeprefix(f"{place}: ").partition(" rows, ")[0]
    assert int(rows) > 1
    assert tool("store", "clear").out == f"{place}: {rows} rows removed\n"
    assert tool("store", "show").out == f"{place}: 0 rows, 0.0 MB\n"


def test_a_store_that_is_none_is_no_reason_to_stop(tool: Tool, tmp_path: Path) -> None:
    """One line says so, and the run goes on without; what lies there is left alone."""
    notes = tmp_path / "notes.txt"
    notes.write_text("mine\n" * 200)
    ended = tool(*RUN, tmp_path / "out", "--store", notes)
    assert ended.status == 0
    (said,) = [line for line in ended.err.splitlines() if line.startswith("store ")]
    assert said.endswith("continuing without it")
    assert tool("store", "clear", "--store", notes).complaint.startswith(f"store {notes}: unusable")
    assert notes.read_text() == "mine\n" * 200


def test_fresh_with_a_store_is_refused(tool: Tool, tmp_path: Path) -> None:
    """They contradict each other."""
    ended = tool(*RUN, tmp_path, "--fresh", "--store", tmp_path / "x")
    assert ended.status == 2
    assert "--fresh uses no store; leave out --store" in ended.complaint


def test_without_a_command_one_line_says_so(tool: Tool) -> None:
    """The help is asked for by name."""
    assert tool("store").complaint.startswith("Missing command; see `")
