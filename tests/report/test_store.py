"""Drawings are kept between reports: found again, refused when damaged, never in the way."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from tests.report.records import record
from verify.report import parts, store
from verify.report.parts import Parts
from verify.report.store import Store

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def kept(folder: Path) -> list[Path]:
    """Return the files of a cache."""
    return [path for path in folder.rglob("*") if path.is_file()]


def test_what_was_put_in_is_found_by_its_content() -> None:
    """Another content or another library's version finds nothing."""
    Store("mathjax 4").put("x²", "<svg/>\n")
    assert Store("mathjax 4").get("x²") == "<svg/>\n"
    assert Store("mathjax 4").get("x³") is None
    assert Store("mathjax 5").get("x²") is None


def test_no_drawing_outlives_the_code_that_made_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of this package draws everything again."""
    Store().put("x", "old")
    monkeypatch.setattr(store, "_package_digest", lambda: "changed")
    assert Store().get("x") is None


@pytest.mark.parametrize("content", [b"", b"cut", b"\xff\xfe", b"seal\n<svg/>"])
def test_a_damaged_file_is_drawn_again(cache: Path, content: bytes) -> None:
    """A file cut short by a full disk is no drawing."""
    Store().put("x", "<svg/>")
    (path,) = kept(cache)
    path.write_bytes(content)
    assert Store().get("x") is None


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It keeps nothing."""
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    Store().put("x", "<svg/>")
    Store().tidy()
    assert Store().get("x") is None


def test_what_nobody_asks_for_is_removed(cache: Path) -> None:
    """Asking keeps a drawing for two more months."""
    for name in ("asked", "forgotten"):
        Store().put(name, name)
    for path in kept(cache):
        os.utime(path, (time.time() - 61 * 86_400,) * 2)
    assert Store().get("asked") == "asked"
    Store().tidy()
    assert Store().get("asked") == "asked"
    assert Store().get("forgotten") is None


def test_a_second_report_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the same report; so is one drawn by two processes."""
    run = record()
    first = Parts.of(run)

    def _figures(_: object) -> list[str]:
        raise AssertionError("drawn again")

    def _formulas(_: object) -> list[str]:
        raise AssertionError("drawn again")

    for draw in (_figures, _formulas):
        monkeypatch.setattr(parts, draw.__name__, draw)
    second = Parts.of(run)
    assert second.figures == first.figures
    assert second.formulas.dump() == first.formulas.dump()


@pytest.mark.slow
def test_two_processes_draw_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing depends on who draws."""
    run = record()
    alone = Parts.of(run)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    monkeypatch.setattr(parts, "_WORTH_A_PROCESS", 1)
    assert parts.draw_figures(run, 2) == alone.figures
    drawn = parts.draw_formulas(alone.view, 2)
    assert sorted(drawn.dump()) == sorted(alone.formulas.dump())
