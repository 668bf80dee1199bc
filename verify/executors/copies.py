"""Processes that are copies of this one: they have what it has imported, and start in milliseconds."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import sys
import threading
import time
import warnings
from subprocess import TimeoutExpired
from typing import TYPE_CHECKING, NoReturn

from verify.executors.worker import main

if TYPE_CHECKING:
    from typing import TextIO

_LOOK_S = 0.005
"""Seconds between looks at whether a process has ended."""


def can_copy() -> bool:
    """Return whether a copy of this process would be whole: of a thread at work, its locks alone are copied.

    The thread that the command line has beside its own waits for a signal and holds nothing.
    """
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and threading.active_count() <= 2


class Copy:
    """A copy of this process that works on tasks; it is waited for as ``subprocess.Popen`` is.

    Raises:
        OSError: the system allows no more processes or open files.
    """

    def __init__(self) -> None:
        with contextlib.ExitStack() as undo:
            (requests, to), (back, replies) = _pipe(undo), _pipe(undo)
            self.pid = _forked(requests, replies)
            undo.pop_all()
        for end in (requests, replies):
            os.close(end)
        with contextlib.suppress(OSError):
            os.setpgid(self.pid, self.pid)
        self.stdin, self.stdout = os.fdopen(to, "wb"), os.fdopen(back, "rb")
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit status, that of a signal below 0; None while the process runs."""
        if self.returncode is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                # Whoever started this process lets the system clear away those that have ended.
                self.returncode = 0
            else:
                self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status once there is one.

        Raises:
            TimeoutExpired: there is none after so many seconds.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while (status := self.poll()) is None:
            if until is not None and time.monotonic() > until:
                raise TimeoutExpired(f"process {self.pid}", timeout or 0.0)
            time.sleep(_LOOK_S)
        return status

    def kill(self) -> None:
        """End the process, if it has not ended."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


def _pipe(undo: contextlib.ExitStack) -> tuple[int, int]:
    ends = os.pipe()
    for end in ends:
        undo.callback(os.close, end)
    return ends


def _forked(requests: int, replies: int) -> int:
    """Return the process of a new copy, which never returns from here; no signal finds it half made."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        with warnings.catch_warnings():
            # Python warns of every other thread, those of linear algebra too, which end before this.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if not pid:
            _serve(requests, replies)
        return pid
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(requests: int, replies: int) -> NoReturn:
    """Work on tasks as a process does that was started for that alone."""
    try:
        os.setpgid(0, 0)
        for number in signal.valid_signals():
            if callable(signal.getsignal(number)):
                signal.signal(number, signal.SIG_DFL)
        # Those of other copies are among the files that are open here.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 3) for end in (requests, replies)]
        for place, end in enumerate(ends):
            os.dup2(end, place)
        for other in {int(name) for name in os.listdir("/proc/self/fd")} - {0, 1, 2}:  # noqa: PTH208
            with contextlib.suppress(OSError):  # that of the listing is closed already
                os.close(other)
        # What waits in the buffers of the original's streams is not printed twice.
        sys.stdin, sys.stdout, sys.stderr = _stream(0, "r"), _stream(1, "w"), _stream(2, "w")
        main("")
    finally:
        os._exit(1)


def _stream(number: int, mode: str) -> TextIO | None:
    try:
        return open(number, mode, closefd=False)  # type: ignore[return-value]
    except OSError:
        return None
