"""The entry point: it ends with the command's status, and after a signal at once."""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import pytest

from verify import __main__ as entry
from verify.cli import interrupts
from verify.cli import main as command


class EndedError(Exception):
    """Stands for the end of the process."""


@pytest.fixture(autouse=True)
def _no_signal_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the process end by an exception, and forget the signals of a test."""

    def end(status: int) -> None:
        raise EndedError(status)

    monkeypatch.setattr(os, "_exit", end)
    monkeypatch.setattr(interrupts, "_received", 0)


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], None]:
    """Return a function that puts another in the place of the command line, and runs the entry point."""

    def run(instead: Callable[[], Any]) -> None:
        monkeypatch.setattr(command, "main", instead)
        entry.main()

    return run


@pytest.mark.parametrize("status", [0, 1, 3])
def test_the_status_of_a_command_is_that_of_the_process(
    running: Callable[[Callable[[], Any]], None], status: int
) -> None:
    """It ends as programs do, with everything tidied up."""

    def ends() -> None:
        sys.exit(status)

    with pytest.raises(SystemExit) as ended:
        running(ends)
    assert ended.value.code == status


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("swallowed", [False, True])
def test_a_signal_ends_it_at_once(
    running: Callable[[Callable[[], Any]], None],
    capsys: pytest.CaptureFixture[str],
    number: signal.Signals,
    swallowed: bool,
) -> None:
    """By the status that shells give it, whether the interrupt arrives or the command ends by it itself."""

    def is_interrupted() -> None:
        interrupts._received = int(number)
        if swallowed:
            sys.exit(128 + number)
        raise KeyboardInterrupt

    with pytest.raises(EndedError) as ended:
        running(is_interrupted)
    assert ended.value.args == (128 + number,)
    said = capsys.readouterr().err
    assert said == ("" if swallowed else "sdpa-verify: interrupted; every file is complete or unchanged\n")


def test_a_stream_that_is_closed_goes_nowhere(
    running: Callable[[Callable[[], Any]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job may start without one; what is written to it is no error."""
    opened = []

    def writes() -> None:
        for stream in (sys.stdout, sys.stderr):
            stream.write("lost")
            opened.append(stream)
        sys.exit(0)

    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    with pytest.raises(SystemExit):
        running(writes)
    assert {stream.name for stream in opened} == {os.devnull}
    for stream in opened:
        stream.close()
