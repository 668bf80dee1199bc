"""How pages are written for a command: paths on standard output, times beside it, a problem at the end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.auditing.records import good
from verify.cli.rendering import outdated, rendered
from verify.errors import RenderError
from verify.report import write
from verify.report.write import Written

if TYPE_CHECKING:
    from collections.abc import Callable

PATHS = (Path("out/audit.json"), Path("out/audit.html"))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Let rendering give two files; return what it was asked for, and what went wrong, if anything."""
    given: dict[str, Any] = {"problem": None}

    def render(
        record: Any, out: Path, announce: Callable[[str], None], workers: int | None, *more: Any
    ) -> Written:
        given.update(record=record, out=out, workers=workers, more=more)
        announce("html")
        return Written(PATHS, {"html": 1.04, "pdf": 2.0}, given["problem"])

    monkeypatch.setattr(write, "write_report", render)
    return given


def test_paths_are_results_and_times_are_not(
    asked: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """A line for each file; phases as they begin, and all their times after those of earlier ones."""
    record = good(1, 1)
    rendered(record, Path("out"), 2, {"measure": 0.5})
    captured = capsys.readouterr()
    assert captured.out.splitlines() == [str(path) for path in PATHS]
    assert captured.err.splitlines() == ["rendering: html", "3.5 s (measure 0.5, html 1.0, pdf 2.0)"]
    assert asked["record"] is record
    assert (asked["out"], asked["workers"]) == (Path("out"), 2)


def test_what_was_written_is_said_before_what_could_not_be(
    asked: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """The problem is raised, so that the command ends with its status."""
    asked["problem"] = RenderError("pdf: Pango is missing; install it")
    with pytest.raises(RenderError) as caught:
        rendered(good(1, 1), Path("out"))
    assert caught.value is asked["problem"]
    assert capsys.readouterr().out.splitlines() == [str(path) for path in PATHS]


def test_pages_of_an_earlier_run_are_said(
    asked: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever opens what lies beside new evidence would take it for its page."""
    record = good(1, 1)
    (tmp_path / "audit.html").touch()
    (tmp_path / "audit.pdf").touch()
    assert outdated(record, tmp_path) == ["audit.html", "audit.pdf"]
    assert outdated(record, tmp_path, ("audit.html",)) == ["audit.pdf"]
    (tmp_path / "audit-full.pdf").touch()
    rendered(record, tmp_path)
    assert asked["record"] is record
    assert (
        f"audit-full.pdf in {tmp_path} is from an earlier run; remove it, or make it again with "
        "`sdpa-verify render`"
    ) in capsys.readouterr().err.splitlines()
    (tmp_path / "audit.json").write_text(record.to_json())
    assert outdated(record, tmp_path) == []


def test_nothing_is_said_where_all_pages_are_new(
    asked: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those that this record gets are no older ones."""
    for name in ("audit.html", "audit.pdf"):
        (tmp_path / name).touch()
    rendered(good(1, 1), tmp_path)
    assert asked["out"] == tmp_path
    assert "earlier" not in capsys.readouterr().err
