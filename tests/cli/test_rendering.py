"""How pages are written for a command: paths on standard output, times beside it, a problem at the end."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.auditing.records import good
from tests.report.records import record as run_record
from verify.cli.rendering import rendered, say_outdated
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


def test_pages_of_an_earlier_run_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever opens what lies beside new evidence would take it for its page; each says when it was made."""
    record = good(1, 1)
    created = datetime.fromisoformat(record.created)
    now, other = (f"{created + timedelta(minutes=later):%Y-%m-%dT%H:%M:%SZ}" for later in (0, -1))
    (tmp_path / "audit.html").write_text(f'<meta name="dcterms.created" content="{now}">')
    (tmp_path / "audit.pdf").write_text(f"/CreationDate (D:{created:%Y%m%d%H%M%S}Z)")
    (tmp_path / "audit-full.pdf").write_text("which no audit has")
    say_outdated(record, tmp_path)
    assert capsys.readouterr().err == ""
    (tmp_path / "audit.html").write_text(f'<meta name="dcterms.created" content="{other}">')
    say_outdated(record, tmp_path, ["audit.html"])
    assert capsys.readouterr().err == ""
    say_outdated(record, tmp_path)
    line = f"audit.html in {tmp_path} is from an earlier run; remove it, or render it again\n"
    assert capsys.readouterr().err == line
    (tmp_path / "audit.pdf").write_text("an earlier audit")
    say_outdated(record, tmp_path)
    assert f"audit.html, audit.pdf in {tmp_path} are from" in capsys.readouterr().err


def test_what_cannot_be_read_is_no_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nor is what is not there."""
    (tmp_path / "audit.html").mkdir()
    (tmp_path / "audit.pdf").symlink_to("nowhere")
    say_outdated(good(1, 1), tmp_path)
    assert capsys.readouterr().err == ""


def test_pages_that_are_written_now_are_no_earlier_ones(
    asked: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rendering is asked for them; another edition of a run's PDF may be left."""
    for name in ("report.html", "report.pdf", "report-full.pdf"):
        (tmp_path / name).touch()
    rendered(run_record(), tmp_path)
    assert asked["out"] == tmp_path
    assert f"report-full.pdf in {tmp_path} is from an earlier run" in capsys.readouterr().err
