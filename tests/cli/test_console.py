"""What commands share: results on standard output, one line of complaint, and the status at the end."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from tests.auditing.records import good
from verify.cli.console import complain, end, rendered, say
from verify.errors import OutputError, RenderError
from verify.report import write
from verify.report.write import Written


@pytest.fixture
def context() -> Iterator[click.Context]:
    """Enter the context of a command."""
    with click.Context(click.Command("test")) as entered:
        yield entered


class Broken(io.TextIOWrapper):
    """A stream to a file that cannot be written to."""

    def __init__(self, path: Path, error: OSError) -> None:
        super().__init__(path.open("wb"), encoding="utf-8", write_through=True)
        self.error: OSError | None = error

    def write(self, text: str) -> int:
        """Fail the first time, as a pipe or disk does."""
        if self.error is not None:
            raise self.error
        return super().write(text)


def test_a_result_goes_to_standard_output_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """A line each; commands for a terminal are shown, not done."""
    say("a result")
    say(3)
    say("\x1b[2Ja\nb")
    captured = capsys.readouterr()
    assert captured.out == "a result\n3\n\\x1b[2Ja\nb\n"
    assert captured.err == ""


def test_a_complaint_is_one_line_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever lines and signs are in what it quotes."""
    complain("first\n  second\t\x1b[2Jthird")
    captured = capsys.readouterr()
    assert captured.err == "sdpa-verify: first second \\x1b[2Jthird\n"
    assert captured.out == ""


@pytest.mark.usefixtures("context")
def test_results_that_could_not_be_written_are_an_error_at_the_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The command goes on, says no more, and does not end as if all were well."""
    with Broken(tmp_path / "out", OSError(28, "No space left on device")) as full:
        monkeypatch.setattr(sys, "stdout", full)
        say("lost")
        full.error = None
        say("goes nowhere")
        with pytest.raises(OutputError) as caught:
            end(0)
    assert (tmp_path / "out").read_bytes() == b""
    assert str(caught.value) == (
        "standard output: cannot be written (No space left on device); free space or send it elsewhere"
    )


@pytest.mark.usefixtures("context")
def test_a_reader_who_goes_away_has_read_enough(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As ``head`` does: the status is that of the command."""
    with Broken(tmp_path / "out", BrokenPipeError(32, "Broken pipe")) as gone:
        monkeypatch.setattr(sys, "stdout", gone)
        say("unread")
        with pytest.raises(SystemExit) as ended:
            end(3)
    assert ended.value.code == 3


def test_a_complaint_that_cannot_be_printed_stops_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What follows on the same stream goes nowhere."""
    with Broken(tmp_path / "out", OSError(28, "No space left on device")) as full:
        monkeypatch.setattr(sys, "stderr", full)
        complain("lost")
        full.error = None
        complain("goes nowhere")
    assert (tmp_path / "out").read_bytes() == b""


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


def test_what_was_written_is_said_before_what_could_not_be(
    asked: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """The problem is raised, so that the command ends with its status."""
    asked["problem"] = RenderError("pdf: Pango is missing; install it")
    with pytest.raises(RenderError) as caught:
        rendered(good(1, 1), Path("out"))
    assert caught.value is asked["problem"]
    assert capsys.readouterr().out.splitlines() == [str(path) for path in PATHS]
