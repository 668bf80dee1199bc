"""Worker processes: pools of one process each, on the standard library's ``ProcessPoolExecutor``.

How many there are changes no result. A process is handed functions by name, never code, cannot outlive this
one, and whatever a task does to it is reported in one line.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from multiprocessing import connection, resource_tracker
from types import ModuleType
from typing import Any, cast

from verify import errors
from verify.errors import VerifyError, WorkerError, described
from verify.executors.machine import keep_freed, made_for_good, processors

_IN_HAND = 2  # tasks sent to a busy process at a time, so that it need not wait for the next one to arrive
_GRACE_S = 1.0  # seconds that a process has to end after its pool has given it up
_LONGEST_TEXT = 2000


@dataclass(frozen=True)
class Task:
    """A function that a module names, with what it is called with; both go to a process as a pickle.

    Tasks of one ``near`` key run in the process that ran the first of them, until the key is released.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    near: str = ""


@dataclass(eq=False)
class _Process:
    """One process in a pool of its own, started at once; no thread is started before its first task.

    One that is ``apart`` has only tasks of that ``near`` key; it calls ``first`` while it has no task.
    """

    apart: str = ""
    first: Callable[[], object] | None = None
    method: str = "spawn"
    near: set[str] = field(default_factory=set)
    open: set[Future[Any]] = field(default_factory=set)
    _end: str = ""

    def __post_init__(self) -> None:
        context: Any = multiprocessing.get_context(self.method)
        self._pool = cast("Any", ProcessPoolExecutor(1, context, _start, (self.first,)))
        # No signal finds it half made.
        with _hidden_main(), signals_blocked(set(signal.valid_signals())):
            # Later, the first task would start it, after the threads of other pools.
            self._pool._spawn_process()
        ((self.pid, self._process),) = self._pool._processes.items()
        # This process's copies of the ends that only the other one uses: while one is open, nobody who reads
        # or writes notices that the other process has ended.
        for end in (self._pool._result_queue._writer, self._pool._call_queue._reader):
            end.close()

    @property
    def is_usable(self) -> bool:
        """Whether it can be given tasks."""
        return not self._end and self._process.exitcode is None

    def hand_out(self, task: Task) -> Future[Any]:
        """Return what will hold the result of a task."""
        outer: Future[Any] = Future()
        outer.set_running_or_notify_cancel()
        self.open.add(outer)
        if task.near:
            self.near.add(task.near)
        try:
            inner = self._pool.submit(_perform, task.function, task.arguments)
        except (BrokenProcessPool, RuntimeError):
            self.open.discard(outer)
            outer.set_exception(WorkerError(self.ended()))
        else:
            inner.add_done_callback(lambda done: self._pass_on(done, outer))
        return outer

    def _pass_on(self, done: Future[Any], outer: Future[Any]) -> None:
        self.open.discard(outer)
        error = done.exception()
        if isinstance(error, BrokenProcessPool):
            outer.set_exception(WorkerError(self.ended()))
        elif error is not None:
            outer.set_exception(error if isinstance(error, VerifyError) else WorkerError(described(error)))
        else:
            outer.set_result(done.result())

    def ended(self) -> str:
        """Return how the process ended before its task had a result."""
        if not self._end:
            self._process.join(_GRACE_S)
            self._end = _end_in_words(self._process.exitcode)
            self.end()
        return self._end

    def end(self) -> None:
        """Kill the process and those that its tasks have started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.name == "posix":
                os.killpg(self.pid, signal.SIGKILL)
        self._process.kill()


def _close(processes: Sequence[_Process]) -> None:
    """End processes, with the threads and files of their pools."""
    for process in processes:
        process._end = process._end or "the workers were closed before it was done"
        process.end()
    for process in processes:
        process._process.join()
        process._pool.shutdown(wait=True)


def _end_in_words(status: int | None) -> str:
    if status is None:
        return "its process does not answer"
    if status >= 0:
        return f"ended its process with status {status} before there was a result"
    name = signal.Signals(-status).name if -status in set(signal.Signals) else str(-status)
    memory = ", which the system may do when memory runs out" if name == "SIGKILL" else ""
    return f"its process was ended by {name}{memory}"


class Workers:
    """Up to ``count`` busy processes; all end with the ``with`` block.

    None is started before it is needed. With one worker, tasks run in this process.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._processes: list[_Process] = []

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all processes."""
        _close(self._processes)
        self._processes = []

    def prepare(self, near: str, function: Callable[[], object]) -> None:
        """Start one more process, for tasks of this ``near`` key alone, which calls ``function`` meanwhile.

        What fails is left to the task that needs it. No thread is started, so copies can still be made.

        Raises:
            VerifyError: the system allows no more processes.
        """
        if not self.serves(near):
            self._start_process(near, function).near.add(near)

    def prepare_copies(self, count: int) -> None:
        """Start ``count`` processes as copies of this one, with all that is imported here.

        Only on Linux, and before there are threads at work: of those, a copy has the locks alone. Otherwise
        processes are started when tasks need them.
        """
        is_main = threading.current_thread() is threading.main_thread()
        # The command line has one thread beside its own, which waits for a signal and holds nothing.
        if sys.platform == "linux" and is_main and threading.active_count() <= 2:
            with contextlib.suppress(OSError), warnings.catch_warnings():
                # Python warns of every other thread, those of linear algebra too, which end before a fork.
                warnings.simplefilter("ignore", DeprecationWarning)
                for _ in range(count):
                    self._processes.append(_Process(method="fork"))

    def hand_out(self, task: Task) -> Future[Any]:
        """Return what will hold the result of a task, or the VerifyError that it led to.

        Raises:
            VerifyError: the system allows no more processes.
        """
        if self.count == 1:
            return done_now(task.function, *task.arguments)
        fitting, busy = self._fitting(task.near), self._busy()
        is_home = any(task.near in process.near for process in fitting)
        if not fitting or (all(process.open for process in fitting) and busy < self.count and not is_home):
            return self._start_process().hand_out(task)
        # The least busy one, and of these the one that evaluates the fewest claims.
        return min(fitting, key=lambda process: (len(process.open), len(process.near))).hand_out(task)

    def has_room(self, near: str = "") -> bool:
        """Return whether a task with this key should be handed out now, rather than one of others."""
        fitting, busy = self._fitting(near), self._busy()
        if busy < self.count and (not all(process.open for process in fitting) or not (near and fitting)):
            return True
        return any(0 < len(process.open) < _IN_HAND for process in fitting)

    def serves(self, near: str) -> bool:
        """Return whether there is a process that has run tasks of this ``near`` key."""
        return any(near in process.near and process.is_usable for process in self._processes)

    def release(self, near: str) -> None:
        """Let others use the process of a ``near`` key: no more such tasks will come."""
        for process in self._processes:
            process.near.discard(near)

    def run_tasks(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Any]]:
        """Yield the place of each task with its result, in order.

        Raises:
            VerifyError: what a task has raised; a WorkerError where that is none of ours, or a process ended.
        """
        waiting = deque(tasks)
        begun: deque[Future[Any]] = deque()
        for place in range(len(tasks)):
            while waiting and len(begun) < _IN_HAND * self.count:
                begun.append(self.hand_out(waiting.popleft()))
            yield place, begun.popleft().result()

    def _busy(self) -> int:
        return sum(bool(process.open) and not process.apart for process in self._processes)

    def _fitting(self, near: str) -> list[_Process]:
        """Return the processes that may run such tasks: of a ``near`` key the one that has run others."""
        usable = [process for process in self._processes if process.is_usable and process.apart in {"", near}]
        return [process for process in usable if near and near in process.near] or usable

    def _start_process(self, apart: str = "", first: Callable[[], object] | None = None) -> _Process:
        try:
            start_tracker()
            process = _Process(apart, first)
        except OSError as error:
            raise VerifyError(
                f"{sys.executable or 'python'}: a process cannot be started ({error.strerror}); "
                "allow more processes or take fewer --workers"
            ) from error
        self._processes.append(process)
        return process


def using(workers: Workers | int | None) -> AbstractContextManager[Workers]:
    """Return a context with these workers, or with this number of new ones that end with it.

    Raises:
        SettingsError: it is no possible number of processors.
    """
    return contextlib.nullcontext(workers) if isinstance(workers, Workers) else Workers(processors(workers))


def done_now(function: Callable[..., Any], *arguments: Any) -> Future[Any]:
    """Return a future that holds what the function returns, called here and now."""
    future: Future[Any] = Future()
    try:
        future.set_result(function(*arguments))
    except Exception as error:  # noqa: BLE001 - raised where the result is asked for
        future.set_exception(error)
    return future


@contextlib.contextmanager
def _hidden_main() -> Iterator[None]:
    """Hide the user's program from a new process, which would run it once more."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@contextlib.contextmanager
def signals_blocked(some: set[signal.Signals]) -> Iterator[None]:
    """Block signals, in the processes and threads that are started in the block too."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, some)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def start_tracker() -> None:
    """Start Python's helper that removes semaphores of killed processes, so that it does not say so."""
    quietly = "ignore:resource_tracker:UserWarning"
    sys.warnoptions.append(quietly)
    try:
        resource_tracker.ensure_running()
    finally:
        sys.warnoptions.remove(quietly)


# What follows runs in the worker process.


def _start(first: Callable[[], object] | None) -> None:
    """Make a worker of a new process, and call ``first`` while it has no task."""
    if os.name == "posix":
        os.setpgid(0, 0)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    # Ctrl-C is for the parent to handle.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _redirect_output()
    keep_freed()
    with made_for_good(), contextlib.suppress(Exception):
        if first is not None:
            first()


def _end_with_parent() -> None:
    """End this process, and those that its tasks have started, when the parent has ended."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        if os.name == "posix":
            os.killpg(0, signal.SIGKILL)
        os._exit(1)


def _redirect_output() -> None:
    """Send what tasks print to standard error: standard output is for results."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    try:
        os.dup2(2, 1)
    except OSError:
        # The parent has no standard error.
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
    # A copy has the parent's streams, which may lead elsewhere.
    sys.stdout, sys.stderr = (
        os.fdopen(number, "w", 1, errors="backslashreplace", closefd=False) for number in (1, 2)
    )


def _perform(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Return what a task leads to; whatever it raises, an exit included, becomes one of our errors."""
    try:
        return function(*arguments)
    except BaseException as error:  # noqa: BLE001 - it is raised in the parent
        raise portable(error) from None


def portable(error: BaseException) -> VerifyError:
    """Return an error that any process of this tool can raise: the nearest of its classes, in one line."""
    kind = next((one for one in type(error).__mro__ if getattr(errors, one.__name__, None) is one), None)
    text = str(error)
    if kind is None:
        text = f"{type(error).__name__}: {text}".removesuffix(": ")
    kind = kind if kind and issubclass(kind, VerifyError) else WorkerError
    return kind(" ".join(text[:_LONGEST_TEXT].split()))
