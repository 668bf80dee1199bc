"""What the tool answers to an input, in this process and watched: what is wrong with it, if anything is."""

import contextlib
import io
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from verify.cli.main import main
from verify.errors import VerifyError
from verify.text.escapes import CONTROLS

_SECONDS = 10.0  # of computing: several times what a whole page takes on a slow machine
_WAITING = 60.0  # seconds by the clock, where a reader waits instead of computing
_STATUSES = frozenset([0, 1, 2, 3, 4])

REFUSALS: list[object] = []
"""What was refused since it was last emptied: with status 2."""


class Slow(BaseException):
    """An input took longer than it may."""


class Answer(NamedTuple):
    """What the tool answered: its exit status and what it printed."""

    status: object
    out: str
    err: str

    def wrong(self) -> str:
        """Return what is wrong with it, or nothing."""
        complaints = [line for line in self.err.splitlines() if line.startswith("sdpa-verify: ")]
        if self.status not in _STATUSES:
            return f"status {self.status!r}"
        if len(complaints) != (self.status in {2, 4}):
            return f"{len(complaints)} complaints with status {self.status}: {self.err[-300:]!r}"
        if "Traceback" in self.err:
            return "a traceback"
        found = CONTROLS.search((self.out + self.err).replace("\n", "").replace("\t", ""))
        return f"the control character {found[0]!r} is printed" if found else ""


_NOWHERE = os.open(os.devnull, os.O_WRONLY)


class _Printed(io.StringIO):
    """What is printed, with a descriptor that the tool may send to nowhere."""

    def fileno(self) -> int:
        """Return one that leads there."""
        return _NOWHERE


def call(*arguments: str) -> Answer:
    """Return what a call of the tool answers, in this process."""
    out, err = _Printed(), _Printed()
    status: object = None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), _no_input():
        try:
            main(list(arguments))
        except SystemExit as ended:
            status = ended.code
    if status in {129, 130, 143}:
        raise KeyboardInterrupt  # It is the campaign that was ended.
    REFUSALS.extend([status] * (status == VerifyError.exit_status))
    return Answer(status, out.getvalue(), err.getvalue())


@contextlib.contextmanager
def _no_input() -> Iterator[None]:
    given, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO())
    try:
        yield
    finally:
        sys.stdin = given


def reading(read: Callable[[], object]) -> Answer:
    """Return what reading answers, where no command does that alone."""
    try:
        read()
    except VerifyError as error:
        REFUSALS.append(error)
        return Answer(
            error.exit_status, "", "".join(f"sdpa-verify: {line}\n" for line in str(error).split("\n"))
        )
    return Answer(0, "", "")


@contextlib.contextmanager
def _watched(seconds: float) -> Iterator[None]:
    """Raise `Slow` after this many seconds of computing, or much longer of waiting."""

    def stop(*_: object) -> None:
        raise Slow

    timers = (
        (signal.SIGVTALRM, signal.ITIMER_VIRTUAL, seconds),
        (signal.SIGALRM, signal.ITIMER_REAL, _WAITING),
    )
    before = [signal.signal(number, stop) for number, _, _ in timers]
    for _, timer, limit in timers:
        signal.setitimer(timer, limit)
    try:
        yield
    finally:
        for (number, timer, _), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


def attempt(trial: Callable[[bytes], str], content: bytes, seconds: float = _SECONDS) -> str:
    """Return what is wrong with the answer to an input, or nothing."""
    try:
        with _watched(seconds):
            return trial(content)
    except Slow:
        return f"more than {seconds:g} s"
    except Exception as error:  # noqa: BLE001 - whatever comes is a fault
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"[:300]
