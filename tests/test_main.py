"""The entry point: it ends with the command's status, and after a signal at once."""

import os
import signal
import sys
from typing import NoReturn

import pytest

from verify import __main__ as entry
from verify.cli import interrupts
from verify.cli import main as command


def test_the_status_of_a_command_is_that_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends as programs do, with everything tidied up; a stream that is closed goes nowhere."""
    opened = []

    def writes() -> NoReturn:
        for stream in (sys.stdout, sys.stderr):
            stream.write("lost")
            opened.append(stream)
        sys.exit(3)

    monkeypatch.setattr(command, "main", writes)
    # A job may start without one; what is written to it is no error.
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    with pytest.raises(SystemExit) as ended:
        entry.main()
    assert ended.value.code == 3
    assert {stream.name for stream in opened} == {os.devnull}
    for stream in opened:
        stream.close()


class EndedError(Exception):
    """Stands for the end of the process."""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("raised", [KeyboardInterrupt, ImportError])
def test_a_signal_ends_it_at_once(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    number: signal.Signals,
    raised: type[BaseException],
) -> None:
    """By the status that shells give it, also where a compiled module makes an error of its own of it."""

    def end(status: int) -> NoReturn:
        raise EndedError(status)

    def is_interrupted(**_: object) -> NoReturn:
        monkeypatch.setattr(interrupts, "_received", int(number))
        raise raised

    monkeypatch.setattr(os, "_exit", end)
    monkeypatch.setattr(command.cli, "main", is_interrupted)
    # Where tests run in the background, a shell may make them ignore Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(EndedError) as ended:
            entry.main()
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended.value.args == (128 + number,)
    assert capsys.readouterr().err == "sdpa-verify: interrupted; every file is complete or unchanged\n"
