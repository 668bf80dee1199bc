"""What commands share: results, complaints and statuses, and progress as it is seen."""

import os
import pty
from contextlib import suppress
from pathlib import Path

import pytest

from tests.tool import begin, finish
from verify.cli.console import complain, say
from verify.cli.main import cli, main


def test_results_and_complaints_have_a_stream_each(capsys: pytest.CaptureFixture[str]) -> None:
    """Commands for a terminal are shown, not done; a complaint is one line, whatever it quotes."""
    say("a result")
    say(3)
    say("\x1b[2Ja\nb")
    complain("first\n  second\t\x1b[2Jthird")
    captured = capsys.readouterr()
    assert captured.out == "a result\n3\n\\x1b[2Ja\nb\n"
    assert captured.err == "sdpa-verify: first second \\x1b[2Jthird\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="writes to /dev/full")
def test_results_that_could_not_be_printed_are_an_error(tmp_path: Path) -> None:
    """The command does not end as if all were well; what was written before stays."""
    out = tmp_path / "verify.json"
    with open("/dev/full", "w", encoding="utf-8") as full:  # noqa: PTH123 - a device
        ended = finish(begin("export", "score-variance", "--format", "json", "--out", out, stdout=full))
    assert ended.status == 2
    assert ended.complaint == "output: No space left on device; free space"
    assert out.is_file()


def test_a_reader_who_goes_away_has_read_enough() -> None:
    """As ``head`` does: the status is that of the command."""
    reading, writing = os.pipe()
    os.close(reading)
    process = begin("list", stdout=writing)
    os.close(writing)
    ended = finish(process)
    assert (ended.status, ended.err) == (0, "")


PRINTING = [
    *((command, "--help") for command in cli.commands),
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
    """Help, results, tables, drawn formulas and errors on 80 columns: a longer line is one word."""
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main(arguments)
    captured = capsys.readouterr()
    lines = (captured.out + captured.err).splitlines()
    assert lines
    assert [line for line in lines if len(line) > 80 and " " in line.strip()] == []
    assert ("--help" in arguments) == lines[0].startswith("Usage:")


@pytest.mark.slow
def test_a_terminal_gets_a_bar(tmp_path: Path) -> None:
    """How far the run is, is shown, then cleared, and the cursor is given back."""
    controller, terminal = pty.openpty()
    arguments = ("run", "sqrt-scaling-unique", "--profile", "quick", "--out", tmp_path)
    process = begin(*arguments, stderr=terminal, environment={"TERM": "xterm", "COLUMNS": "80"})
    os.close(terminal)
    seen = b""
    with suppress(OSError):  # the other end is closed: the process has ended
        while piece := os.read(controller, 4096):
            seen += piece
    out = process.communicate(timeout=60)[0]
    os.close(controller)
    assert process.returncode == 0
    assert out.startswith("✓ sqrt-scaling-unique")
    shown = seen.decode()
    assert {
        part for part in ("deriving", "0/1", "0:00:0", "\x1b[?25l", "\x1b[2K") if part not in shown
    } == set()
    assert shown.rfind("\x1b[?25h") > shown.rfind("\x1b[?25l")
