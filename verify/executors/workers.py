"""Worker processes: pools of one process each, on the standard library's ``ProcessPoolExecutor``.

How many there are changes no result. A process is handed functions by name, never code, cannot outlive this
one, and whatever a task does to it is reported in one line.
"""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from multiprocessing import connection, resource_tracker
from types import ModuleType
from typing import Any, cast

from verify import errors
from verify.errors import VerifyError, WorkerError, described
from verify.executors.machine import (
    adopt_orphans,
    end_descendants,
    end_with_parent_thread,
    keep_freed,
    made_for_good,
    processors,
)

_IN_HAND = 2  # tasks sent to a busy process at a time, so that it need not wait for the next one to arrive
_KEPT = 2  # processes kept for each that may be busy: those of other isolation keys have things loaded
_LOOK_S = 0.5  # seconds between looks at processes whose pool may not notice their end

_GRACE_S = 1.0
"""Seconds that a process has to end after its pool has given it up, and a pool to notice the end of one."""

_POLL_S = 0.005

_LONGEST_TEXT = 2000


class ProcessEndedError(WorkerError):
    """The process of a task ended before there was a result."""


@dataclass(frozen=True)
class Task:
    """A function that a module names, with what it is called with; both go to a process as a pickle.

    Tasks with an ``isolate`` key run in another process, in one that runs only tasks of that key. Tasks of
    one ``near`` key run in the process that ran the first of them, until the key is released.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    isolate: str = ""
    near: str = ""


@dataclass(eq=False)
class _Process:
    """One process in a pool of its own, started at once; no thread is started before its first task."""

    isolate: str
    modules: str = ""
    method: str = "spawn"
    near: set[str] = field(default_factory=set)
    open: set[Future[Any]] = field(default_factory=set)
    _gone_since: float = 0.0
    _end: str = ""

    def __post_init__(self) -> None:
        context: Any = multiprocessing.get_context(self.method)
        self._pool = cast("Any", ProcessPoolExecutor(1, context, _start, (self.modules,)))
        # No signal finds it half made.
        with _hidden_main(), signals_blocked(set(signal.valid_signals())):
            # Later, the first task would start it, after the threads of other pools.
            self._pool._spawn_process()
        ((self.pid, self._process),) = self._pool._processes.items()
        # This process's copies of the ends that only the other one uses.
        self._ends = [self._pool._result_queue._writer]
        if sys.version_info < (3, 11, 5):  # later ones close it by themselves
            self._ends.append(self._pool._call_queue._reader)

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
            self._resolve(outer, error=ProcessEndedError(self.ended()))
        else:
            inner.add_done_callback(lambda done: self._pass_on(done, outer))
        return outer

    def _pass_on(self, done: Future[Any], outer: Future[Any]) -> None:
        error = done.exception()
        if isinstance(error, BrokenProcessPool):
            error = ProcessEndedError(self.ended())
        elif error is not None and not isinstance(error, VerifyError):
            error = WorkerError(described(error))
        self._resolve(outer, None if error else done.result(), error)

    def _resolve(self, outer: Future[Any], result: Any = None, error: BaseException | None = None) -> None:
        self.open.discard(outer)
        with contextlib.suppress(InvalidStateError):
            if error is None:
                outer.set_result(result)
            else:
                outer.set_exception(error)

    def ended(self) -> str:
        """Return how the process ended before its task had a result; end it if only its pool has ended."""
        if not self._end:
            until = time.monotonic() + _GRACE_S
            # Not ``join``, which waits without end for a process that has closed its files.
            while self._process.exitcode is None and time.monotonic() < until:
                time.sleep(_POLL_S)
            self._end = _end_in_words(self._process.exitcode)
            self.end()
        return self._end

    def look(self) -> None:
        """Report an end that the pool does not see: a child of the process holds its pipe, or half a result.

        Such a pool's thread waits for the rest of the result until all copies of the pipe are closed.
        """
        if self._process.exitcode is None or not self.open:
            return
        if not self._gone_since:
            self._gone_since = time.monotonic()
            self.end()
        elif time.monotonic() - self._gone_since > _GRACE_S:
            self.close_ends()
            for one in tuple(self.open):
                self._resolve(one, error=ProcessEndedError(self.ended()))

    def end(self) -> None:
        """Kill the process and those that its tasks have started, of isolated ones in all sessions."""
        if self.isolate and self._process.exitcode is None:
            end_descendants(self.pid)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.name == "posix":
                os.killpg(self.pid, signal.SIGKILL)
        self._process.kill()

    def close_ends(self) -> None:
        """Close the ends of pipes that were the ended process's: no thread goes on reading or writing."""
        for end in self._ends:
            with contextlib.suppress(OSError):
                end.close()


def _close(processes: Sequence[_Process]) -> None:
    """End processes, with the threads and files of their pools."""
    for one in processes:
        one._end = one._end or "the workers were closed before it was done"
        one.end()
    for one in processes:
        one._process.join()
        one.close_ends()
    for one in processes:
        # No copy of any pipe is left: a thread that waits in the middle of a result or a task has ended.
        one._pool.shutdown(wait=True)


def _end_in_words(status: int | None) -> str:
    if status is None:
        return "closed the files of its process, the one for its result among them"
    if status >= 0:
        return f"ended its process with status {status} before there was a result"
    name = signal.Signals(-status).name if -status in set(signal.Signals) else str(-status)
    memory = ", which the system may do when memory runs out" if name == "SIGKILL" else ""
    return f"its process was ended by {name}{memory}"


class Workers:
    """Up to ``count`` busy processes; all end with the ``with`` block.

    None is started before it is needed. With one worker, tasks run in this process unless they are isolated.
    A process ends with the thread that starts it, so it is the caller's thread that does.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._processes: list[_Process] = []
        self._ended: list[_Process] = []
        self._watch: threading.Thread | None = None
        self._closed = threading.Event()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all processes."""
        self._closed.set()
        _close([*self._processes, *self._ended])
        self._processes, self._ended = [], []

    def prepare(self, isolate: str, modules: str) -> None:
        """Start a process of an isolation key ahead of its first task.

        It imports ``modules``, names joined by commas, and calls the function that a name goes on with after
        a colon. What fails is left to the task that needs it.

        Raises:
            VerifyError: the system allows no more processes.
        """
        if not any(one.isolate == isolate for one in self._processes):
            self._start_process(isolate, modules)

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
                    self._processes.append(_Process("", method="fork"))

    def hand_out(self, task: Task) -> Future[Any]:
        """Return what will hold the result of a task, or the VerifyError that it led to.

        Raises:
            VerifyError: the system allows no more processes.
        """
        if self.count == 1 and not task.isolate:
            return done_now(task.function, *task.arguments)
        process = self._process_for(task)
        if self._watch is None:
            self._watch = threading.Thread(target=self._look, daemon=True)
            self._watch.start()
        return process.hand_out(task)

    def has_room(self, isolate: str = "", near: str = "") -> bool:
        """Return whether a task with these keys should be handed out now, rather than one of others."""
        fitting = self._fitting(isolate, near)
        busy = sum(bool(one.open) for one in self._processes)
        if busy < self.count and (not all(one.open for one in fitting) or not (near and fitting)):
            return True
        return any(0 < len(one.open) < _IN_HAND for one in fitting)

    def serves(self, near: str) -> bool:
        """Return whether there is a process that has run tasks of this ``near`` key."""
        return any(near in one.near and one.is_usable for one in self._processes)

    def release(self, near: str) -> None:
        """Let the process of a ``near`` key go when others need the room: no more such tasks will come."""
        for one in self._processes:
            one.near.discard(near)

    def call(self, task: Task) -> Any:
        """Return the result of one task, as ``run_tasks`` does."""
        return self.hand_out(task).result()

    def run_tasks(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Any]]:
        """Yield the place of each task with its result, in order; one whose process ends is done again once.

        Raises:
            VerifyError: what a task has raised.
            WorkerError: a task raised something else, or its process ended; ``place`` says which task.
        """
        waiting = deque(enumerate(tasks))
        begun: deque[tuple[int, Task, Future[Any]]] = deque()
        while waiting or begun:
            while waiting and len(begun) < _IN_HAND * self.count:
                place, task = waiting.popleft()
                begun.append((place, task, self.hand_out(task)))
            place, task, future = begun.popleft()
            try:
                try:
                    result = future.result()
                except ProcessEndedError:
                    if task.isolate:
                        raise
                    result = self.call(task)
            except WorkerError as error:
                error.place = place
                raise
            yield place, result

    def _fitting(self, isolate: str, near: str) -> list[_Process]:
        """Return the processes that may run such tasks: of a ``near`` key the one that has run others."""
        for one in [one for one in self._processes if not one.is_usable and not one.open]:
            self._processes.remove(one)
            self._ended.append(one)
        fitting = [one for one in self._processes if one.isolate == isolate and one.is_usable]
        return [one for one in fitting if near and near in one.near] or fitting

    def _process_for(self, task: Task) -> _Process:
        """Return the least busy process for a task, or a new one."""
        fitting = self._fitting(task.isolate, task.near)
        busy = sum(bool(one.open) for one in self._processes)
        is_home = any(task.near in one.near for one in fitting)
        if not fitting or (all(one.open for one in fitting) and busy < self.count and not is_home):
            return self._start_process(task.isolate)
        return min(fitting, key=lambda one: (len(one.open), len(one.near)))

    def _start_process(self, isolate: str, modules: str = "") -> _Process:
        idle = [one for one in self._processes if not one.open and not one.near and one.isolate != isolate]
        while idle and len(self._processes) >= _KEPT * self.count:
            self._processes.remove(idle[0])
            _close([idle.pop(0)])
        try:
            start_tracker()
            process = _Process(isolate, modules)
        except OSError as error:
            raise VerifyError(
                f"{sys.executable or 'python'}: a process cannot be started ({error.strerror}); "
                "allow more processes or take fewer --workers"
            ) from error
        self._processes.append(process)
        return process

    def _look(self) -> None:
        while not self._closed.wait(_LOOK_S):
            for one in tuple(self._processes):
                one.look()


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


def _start(modules: str) -> None:
    """Make a worker of a new process, and import ``modules`` while it has no task."""
    if os.name == "posix":
        os.setpgid(0, 0)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    # Ctrl-C is for the parent to handle.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
    end_with_parent_thread()
    adopt_orphans()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _redirect_output()
    keep_freed()
    with made_for_good(), contextlib.suppress(Exception):
        for name in filter(None, modules.split(",")):
            module, _, function = name.partition(":")
            loaded = importlib.import_module(module)
            if function:
                getattr(loaded, function)()


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
    process = os.getpid()
    failure: VerifyError | None = None
    result = None
    try:
        result = function(*arguments)
    except BaseException as error:  # noqa: BLE001 - it is raised in the parent
        failure = portable(error)
    if os.getpid() != process:
        # The task has forked, and this is the copy.
        os._exit(0)
    if failure is not None:
        raise failure
    return result


def portable(error: BaseException) -> VerifyError:
    """Return an error that any process of this tool can raise: the nearest of its classes, in one line."""
    kind = next((one for one in type(error).__mro__ if getattr(errors, one.__name__, None) is one), None)
    try:
        text = str(error)
    except BaseException:  # noqa: BLE001 - the code that raised it makes its text
        text = "its text cannot be made"
    if kind is None:
        text = f"{type(error).__name__}: {text}".removesuffix(": ")
    kind = kind if kind and issubclass(kind, VerifyError) else WorkerError
    return kind(" ".join(text[:_LONGEST_TEXT].split()))
