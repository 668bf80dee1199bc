"""What commands share: results, complaints and statuses, widths that fit, and progress as it is seen."""

import io
import os
import pty
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.tool import begin
from verify.cli.console import complain, end, fitted, say, width_of
from verify.cli.main import cli, main
from verify.errors import OutputError


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


def lines_of(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> list[str]:
    """Return what the command prints on 80 columns, after looking at its lines: a longer one is one word."""
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main(arguments)
    captured = capsys.readouterr()
    lines = (captured.out + captured.err).splitlines()
    assert lines
    assert [line for line in lines if len(line) > 80 and " " in line.strip()] == []
    return lines


@pytest.mark.parametrize("command", list(cli.commands))
def test_every_help_fits(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Help of every command, with every option."""
    lines = lines_of((command, "--help"), monkeypatch, capsys)
    assert any(line.startswith("Usage:") for line in lines)


PRINTING = [
    ("list",),
    ("show", "over-scaling"),
    ("values", "score-variance"),
    ("cite", "score-variance"),
    ("show", "over-scalling"),
    ("check-docs", "README.md"),
    ("plan", "over-scaling"),
]


@pytest.mark.parametrize("arguments", PRINTING, ids="-".join)
def test_what_is_printed_fits(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Results, tables, drawn formulas and errors."""
    lines_of(arguments, monkeypatch, capsys)


def test_a_pipe_gets_whole_lines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What other programs read has a line for each result, however long."""
    monkeypatch.delenv("COLUMNS", raising=False)
    with pytest.raises(SystemExit):
        main(("list",))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) > 80
    assert fitted("one  two", None) == "one  two"


def test_words_stay_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line breaks between words and is set in; what fits keeps its columns; a width of nonsense is none."""
    assert fitted("  key  value of it", 16) == "  key  value of\n       it"
    assert fitted("a wide key  value of it", 16) == "a wide key value\n    of it"
    assert fitted("  a   b", 12) == "  a   b"
    assert fitted("score-variance.variance-d512", 12) == "score-variance.variance-d512"
    monkeypatch.setenv("COLUMNS", "many")
    with open("/dev/null", encoding="utf-8") as nowhere:  # noqa: PTH123 - a device
        assert width_of(nowhere) is None
        monkeypatch.setenv("COLUMNS", "40")
        assert width_of(nowhere) == 80


@pytest.mark.slow
def test_a_terminal_gets_a_bar(tmp_path: Path) -> None:
    """How far the run is, is shown, then cleared, and the cursor is given back."""
    controller, terminal = pty.openpty()
    arguments = ("run", "sqrt-scaling-unique", "--profile", "quick", "--out", tmp_path)
    process = begin(*arguments, stderr=terminal, environment={"TERM": "xterm", "COLUMNS": "80"})
    os.close(terminal)
    seen = b""
    while True:
        try:
            piece = os.read(controller, 4096)
        except OSError:  # the other end is closed: the process has ended
            break
        if not piece:
            break
        seen += piece
    out = process.communicate(timeout=60)[0]
    os.close(controller)
    assert process.returncode == 0
    assert out.startswith("✓ sqrt-scaling-unique")
    shown = seen.decode()
    assert "deriving" in shown
    assert "0/1" in shown
    assert "0:00:0" in shown
    assert "\x1b[?25l" in shown
    assert shown.rfind("\x1b[?25h") > shown.rfind("\x1b[?25l")
    assert "\x1b[2K" in shown
