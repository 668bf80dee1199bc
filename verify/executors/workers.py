"""Processes that work for this one: how many there are changes no result.

A worker is a process that ``verify.executors.worker`` serves. It is handed functions by name, never code,
and cannot outlive the thread that started it. Whatever a task does to its process, this one reports it.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from verify import errors
from verify.errors import SettingsError, VerifyError, WorkerError
from verify.executors.worker import HEADER, MARK, Done, Failed, receive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

_LOOK_S = 0.2
"""Seconds between looks at processes whose pipe does not show their end."""

_GRACE_S = 1.0
"""Seconds that a process has to end after it has closed its pipe."""


def processors(workers: int | None) -> int:
    """Return how many processors to use; None means all.

    Raises:
        SettingsError: it is no number, or less than one.
    """
    if workers is None:
        return os.cpu_count() or 1
    if isinstance(workers, bool) or not isinstance(workers, int):
        raise SettingsError(f"workers {workers!r}: give a whole number")
    if workers < 1:
        raise SettingsError(f"--workers {workers}: at least one is needed")
    return workers


@dataclass(frozen=True)
class Task:
    """A function that a module names, with what it is called with; both go to a process as a pickle.

    Tasks with an ``isolate`` key always run in another process, and in one that runs nothing but tasks of
    that key. Those that stay ``here`` hold what is no pickle, and are done by this process.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    isolate: str = ""
    here: bool = False


class Workers:
    """Up to ``count`` processes that work for the thread that made them; they end with the ``with`` block.

    Nothing is started before it is needed.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._idle: list[_Worker] = []
        self._events: queue.SimpleQueue[tuple[_Worker, bytes | None]] = queue.SimpleQueue()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all processes."""
        while self._idle:
            self._idle.pop().end()

    def prepare(self, isolate: str, modules: str) -> None:
        """Start a process ahead of its first task, if there is room; it imports ``modules`` meanwhile."""
        if len(self._idle) < self.count:
            self._idle.append(_Worker(isolate, modules, self._events))

    def call(self, task: Task) -> Any:
        """Return what one task leads to, as ``run_tasks`` would."""
        ((_, result),) = self.run_tasks([task])
        return result

    def run_tasks(
        self,
        tasks: Sequence[Task],
        processes: int | None = None,
        on_start: Callable[[int], None] = lambda _place: None,
    ) -> Iterator[tuple[int, Any]]:
        """Yield the place of each task with its result, as they are done, by so many processes at a time.

        One process means this one, but for tasks that are to be isolated. ``on_start`` is called with a
        task's place when its turn comes.

        Raises:
            VerifyError: what a task has raised.
            WorkerError: a task raised something else, or its process ended; ``place`` says which task.
        """
        at_most = min(processes or self.count, self.count)
        waiting, at_work = deque(enumerate(tasks)), dict[_Worker, int]()
        try:
            while waiting or at_work:
                while waiting and len(at_work) < at_most:
                    place, task = waiting.popleft()
                    on_start(place)
                    if task.here or (at_most == 1 and not task.isolate):
                        yield place, task.function(*task.arguments)
                        continue
                    worker = self._worker(task.isolate, len(at_work))
                    at_work[worker] = place
                    worker.send(task)
                if at_work:
                    worker, reply = self._next(at_work)
                    yield at_work[worker], self._result(worker, reply, at_work)
        finally:
            for worker in at_work:
                worker.end()

    def _worker(self, isolate: str, busy: int) -> _Worker:
        """Return an idle process for tasks of this key, or a new one in the place of another."""
        for one in [one for one in self._idle if not one.is_alive]:
            self._idle.remove(one)
            one.end()
        for one in self._idle:
            if one.isolate == isolate:
                self._idle.remove(one)
                return one
        while self._idle and len(self._idle) + busy >= self.count:
            self._idle.pop(0).end()
        return _Worker(isolate, "", self._events)

    def _next(self, at_work: dict[_Worker, int]) -> tuple[_Worker, bytes | None]:
        """Wait for a reply, or for the end of a process, which is None."""
        while True:
            try:
                worker, reply = self._events.get(timeout=_LOOK_S)
            except queue.Empty:
                # A process that a task has started may keep the pipe open.
                for one in at_work:
                    if not one.is_alive:
                        return one, None
            else:
                if worker in at_work:
                    return worker, reply

    def _result(self, worker: _Worker, reply: bytes | None, at_work: dict[_Worker, int]) -> Any:
        place = at_work.pop(worker)
        outcome = _read(reply)
        if outcome is None:
            raise WorkerError(worker.ended(), place)
        self._idle.append(worker)
        if isinstance(outcome, Done):
            return outcome.value
        raised = getattr(errors, outcome.error, None)
        if isinstance(raised, type) and issubclass(raised, VerifyError) and raised is not WorkerError:
            raise raised(outcome.text)
        raise WorkerError(outcome.text, place)


def using(workers: Workers | int | None) -> AbstractContextManager[Workers]:
    """Return a context with these workers, or with so many new ones that end with it.

    Raises:
        SettingsError: a number of processors is wanted that is none.
    """
    return contextlib.nullcontext(workers) if isinstance(workers, Workers) else Workers(processors(workers))


def starmap_unordered(
    function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], processes: int
) -> Iterator[tuple[int, Any]]:
    """Yield the place of each tuple of arguments with what ``function`` returns for it, as ``Workers`` do."""
    with Workers(processes) as workers:
        yield from workers.run_tasks([Task(function, one) for one in arguments])


class _Worker:
    """One process, the pipe to it, and a thread that passes on what comes from it."""

    def __init__(
        self, isolate: str, modules: str, events: queue.SimpleQueue[tuple[_Worker, bytes | None]]
    ) -> None:
        self.isolate = isolate
        self._closed = False
        self._process = _start(modules)
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
        return not self._closed and self._process.poll() is None

    def send(self, task: Task) -> None:
        """Hand a task over; that the process has ended meanwhile is noticed where its reply is awaited."""
        message = pickle.dumps((task.function, task.arguments))
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
        self._listener.join(_LOOK_S)


def _start(modules: str) -> subprocess.Popen[bytes]:
    """Start a process with this one's import path; Ctrl-C on the terminal reaches this one alone."""
    path = [one for one in sys.path if isinstance(one, str)]
    code = f"import sys; sys.path[:] = {path!r}; from verify.executors.worker import main; main({modules!r})"
    group: dict[str, Any] = (
        {"process_group": 0}
        if os.name == "posix"
        else {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
    )
    masks = hasattr(signal, "pthread_sigmask")
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if masks else None
    try:
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
    finally:
        if before is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _flags() -> list[str]:
    """Return the options of this interpreter that tasks may notice."""
    return [
        *["-O"] * sys.flags.optimize,
        *["-B"] * sys.flags.dont_write_bytecode,
        *(f"-W{one}" for one in sys.warnoptions),
    ]


def _read(reply: bytes | None) -> Done | Failed | None:
    """Return what a reply says, or None where there is none or it is broken."""
    if reply is None:
        return None
    try:
        outcome = pickle.loads(reply)  # noqa: S301 - from a process of this one's
    except Exception:  # noqa: BLE001 - whatever a task has put in its place
        return None
    return outcome if isinstance(outcome, Done | Failed) else None
