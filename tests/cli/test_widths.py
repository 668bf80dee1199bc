"""What commands print fits the terminal, and breaks between words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from verify.claims.chapters import CHAPTERS
from verify.cli.console import columns, fitted
from verify.cli.main import cli, main
from verify.cli.progress import progress_line
from verify.engine.schedule import RunProgress

WIDTHS = (80, 40)


def _commands(group: click.Group, *before: str) -> Iterator[tuple[str, ...]]:
    yield before
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from _commands(command, *before, name)
        else:
            yield (*before, name)


def lines_of(
    arguments: tuple[str, ...],
    width: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> list[str]:
    """Return what the command prints, after looking at its lines: a longer one is a single word."""
    monkeypatch.setenv("COLUMNS", str(width))
    with pytest.raises(SystemExit):
        main(arguments)
    captured = capsys.readouterr()
    lines = (captured.out + captured.err).splitlines()
    assert lines
    assert [line for line in lines if len(line) > width and " " in line.strip()] == []
    return lines


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("command", list(_commands(cli)), ids="-".join)
def test_every_help_fits(
    command: tuple[str, ...], width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Help of every command, with every option."""
    lines = lines_of((*command, "--help"), width, monkeypatch, capsys)
    assert any(line.startswith("Usage:") for line in lines)


PRINTING = [
    ("list",),
    ("show", "over-scaling"),
    ("values", "score-variance"),
    ("cite", "score-variance"),
    ("show", "over-scalling"),
    ("check-docs", "README.md"),
    ("store", "show", "--store", "no-such-file"),
    ("plan", "over-scaling"),
]


@pytest.mark.parametrize("arguments", PRINTING, ids="-".join)
def test_what_is_printed_fits(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Results, tables, drawn formulas and errors, and what they say is all there."""
    is_laid_out = arguments[0] in {"plan", "show"}
    widths = WIDTHS[1:] if is_laid_out else (1000, *WIDTHS)
    printed = [" ".join(lines_of(arguments, width, monkeypatch, capsys)) for width in widths]
    assert is_laid_out or len({re.sub(r"\s+", " ", words) for words in printed}) == 1


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("command", ["run", "report"])
def test_a_run_fits(
    command: str,
    width: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Verdicts, totals and the times of phases."""
    arguments = (command, "over-scaling", "--profile", "quick", "--workers", "1", "--out", str(tmp_path))
    lines = lines_of(arguments, width, monkeypatch, capsys)
    assert any(line.startswith("✓ over-scaling") for line in lines)


def test_a_wide_terminal_is_used(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Where there is room, every claim has one line."""
    lines = lines_of(("list",), 200, monkeypatch, capsys)
    claims = [line for line in lines if line.startswith("  ")]
    assert len(claims) == sum(len(chapter.claims) for chapter in CHAPTERS.values())


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
    assert fitted("  key   value of it", 12) == "  key value\n      of it"
    assert fitted("  a   b", 12) == "  a   b"
    assert fitted("score-variance.variance-d512", 12) == "score-variance.variance-d512"
    monkeypatch.setenv("COLUMNS", "many")
    with open("/dev/null", encoding="utf-8") as nowhere:  # noqa: PTH123 - a device
        assert columns(nowhere) is None


@pytest.mark.parametrize(
    ("room", "line"),
    [
        (80, "4 s left · 3.0e+08 drawn · 1.5e+08/s · 7 working · 1.0e+08 stored"),
        (53, "4 s left · 3.0e+08 drawn · 1.5e+08/s · 7 working"),
        (24, "4 s left · 3.0e+08 drawn"),
        (8, "4 s left"),
    ],
)
def test_progress_says_what_matters_first(room: int, line: str) -> None:
    """On a narrow terminal the time that is left stays, and nothing is cut within a word."""
    progress = RunProgress(drawn=3 * 10**8, stored=10**8, wanted=10**9, seconds=2.0, workers=7)
    assert progress_line(progress, room) == line
