"""One process that works for this one, the pipe to it, and a thread that listens to it."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any, TypeAlias

from verify.errors import VerifyError
from verify.executors.worker import HEADER, MARK, Done, Failed, receive

if TYPE_CHECKING:
    import queue
    from collections.abc import Iterator

    from verify.executors.copies import Copy

    Process: TypeAlias = subprocess.Popen[bytes] | Copy

_PATIENCE_S = 0.2
"""Seconds to wait for the listener of a process that was ended."""

_GRACE_S = 1.0
"""Seconds that a process has to end after it has closed its pipe."""


class Worker:
    """One process, the pipe to it, and a thread that passes on what comes from it."""

    def __init__(self, isolate: str, process: Process, events: queue.SimpleQueue[Any]) -> None:
        self.isolate = isolate
        self.served: set[str] = set()
        self._closed = False
        self._process = process
        replies = self._process.stdout
        assert replies is not None  # noqa: S101 - it is a pipe

        def listen() -> None:
            with replies:
                while True:
                    reply = receive(replies.fileno())
                    self._closed = reply is None
                    events.put((self, reply))
                    if reply is None:
                        return

        self._listener = threading.Thread(target=listen, daemon=True)
        self._listener.start()

    @property
    def is_alive(self) -> bool:
        """Whether it can still answer."""
        return not self._closed and self._process.poll() is None

    def send(self, message: bytes) -> None:
        """Hand a task over; that the process has ended meanwhile is noticed where its reply is awaited."""
        pipe = self._process.stdin
        assert pipe is not None  # noqa: S101 - it is a pipe
        with contextlib.suppress(BrokenPipeError):
            pipe.write(HEADER.pack(MARK, len(message)) + message)
            pipe.flush()

    def ended(self) -> str:
        """Say how the process ended before its task had a result; end it if it only closed its pipe."""
        try:
            status = self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            status = None
        self.end()
        if status is None:
            return "closed the files of its process, the one for its result among them"
        if status >= 0:
            return f"ended its process with status {status} before there was a result"
        name = signal.Signals(-status).name if -status in set(signal.Signals) else str(-status)
        memory = ", which the system may do when memory runs out" if name == "SIGKILL" else ""
        return f"its process was ended by {name}{memory}"

    def end(self) -> None:
        """End the process and those that its tasks have started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.name == "posix":
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()  # type: ignore[union-attr]  # it is a pipe
        self._listener.join(_PATIENCE_S)


def started(modules: str) -> subprocess.Popen[bytes]:
    """Return a new process with this one's import path; Ctrl-C on the terminal reaches this one alone.

    It does with ``modules`` what ``verify.executors.worker.main`` does, and ends with the thread that calls
    this.

    Raises:
        VerifyError: the system allows no more processes.
    """
    path = [one for one in sys.path if isinstance(one, str)]
    code = f"import sys; sys.path[:] = {path!r}; from verify.executors.worker import main; main({modules!r})"
    group: dict[str, Any] = (
        {"process_group": 0}
        if os.name == "posix"
        else {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
    )
    try:
        with sigint_blocked():
            return subprocess.Popen(  # noqa: S603 - this very interpreter
                [sys.executable, *_flags(), "-c", code],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                **group,
            )
    except OSError as error:
        raise VerifyError(
            f"{sys.executable or 'python'}: a process cannot be started ({error.strerror}); "
            "allow more processes or take fewer --workers"
        ) from error


@contextlib.contextmanager
def sigint_blocked() -> Iterator[None]:
    """Start processes and threads that Ctrl-C does not reach, where the system lets them inherit that."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _flags() -> list[str]:
    """Return the options of this interpreter that tasks may notice."""
    return [
        *["-O"] * sys.flags.optimize,
        *["-B"] * sys.flags.dont_write_bytecode,
        *(f"-W{one}" for one in sys.warnoptions),
    ]


def read(reply: bytes | None) -> Done | Failed | None:
    """Return what a reply says, or None where there is none or it is broken."""
    if reply is None:
        return None
    try:
        outcome = pickle.loads(reply)  # noqa: S301 - from a process of this one's
    except Exception:  # noqa: BLE001 - whatever a task has put in its place
        return None
    return outcome if isinstance(outcome, Done | Failed) else None
