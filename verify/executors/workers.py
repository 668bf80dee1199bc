"""Processes that work for this one: how many there are changes no result.

A worker is a process that ``verify.executors.worker`` serves. It is handed functions by name, never code,
and cannot outlive this one. Whatever a task does to its process, this one reports it.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import sys
import threading
from collections import deque
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from verify import errors
from verify.errors import SettingsError, VerifyError, WorkerError
from verify.executors.processes import Worker, read, started
from verify.executors.worker import Done

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from verify.executors.processes import Process

_LOOK_S = 0.2
"""Seconds between looks at processes whose pipe does not show their end."""

_KEPT = 2
"""Processes kept for each that may be at work: those of other keys have things at hand."""


MOST = 1024
"""Processes of one machine: more than any has processors for."""


def processors(workers: int | None, most: int = MOST) -> int:
    """Return how many processors to use, of ``most``; None means all.

    Raises:
        SettingsError: it is no number, less than one, or more than ``most``.
    """
    if workers is None:
        return min(most, os.cpu_count() or 1)
    if isinstance(workers, bool) or not isinstance(workers, int):
        raise SettingsError(f"workers {workers!r}: give a whole number")
    if workers < 1:
        raise SettingsError(f"--workers {workers}: at least one is needed")
    if workers > most:
        raise SettingsError(f"--workers {workers}: give at most {most}")
    return workers


@dataclass(frozen=True)
class Task:
    """A function that a module names, with what it is called with; both go to a process as a pickle.

    Tasks with an ``isolate`` key always run in another process, and in one that runs nothing but tasks of
    that key. Tasks of one ``near`` key run in the process that ran the first of them, as long as there is
    one: it has at hand what they have in common.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    isolate: str = ""
    near: str = ""


@runtime_checkable
class TakesTasks(Protocol):
    """An executor that heeds which tasks have something in common."""

    def hand_out(self, task: Task) -> Future[Any]:
        """Return what will hold the result of a task, or the VerifyError that it led to."""


@dataclass
class _Waiting:
    """A task handed out, with what goes to the process for it, and where its result goes."""

    task: Task
    message: bytes
    future: Future[Any]


class Workers(Executor):
    """Up to ``count`` processes at work; all end with the ``with`` block.

    Nothing is started before it is needed. One process means this one, but for tasks that are to be
    isolated. A thread of their own starts the processes and hands out tasks: they cannot outlive it, nor
    it this process; those that are prepared end with the thread that wanted them.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._idle: list[Worker] = []
        self._at_work: dict[Worker, _Waiting] = {}
        self._waiting: deque[_Waiting] = deque()
        self._ahead: deque[tuple[str, Process]] = deque()
        self._prepared: set[str] = set()
        self._events: queue.SimpleQueue[_Waiting | tuple[Worker, bytes | None] | None]
        self._events = queue.SimpleQueue()
        self._dispatcher: threading.Thread | None = None

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all processes."""
        if self._ahead:
            self._dispatch()
        if self._dispatcher is not None:
            self._events.put(None)
            self._dispatcher.join()
            self._dispatcher = None

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002, RUF100 - the base class has them
        """End all processes; what is not done by then is cancelled."""
        self.close()

    def prepare(self, isolate: str, modules: str) -> None:
        """Start a process ahead of its first task; it imports ``modules``, names joined by commas, meanwhile.

        It calls the function that a name goes on with after a colon. There is one process for each
        ``isolate`` key; tasks that are not isolated may have several.

        Raises:
            VerifyError: the system allows no more processes.
        """
        if not isolate or isolate not in self._prepared:
            self._prepared.add(isolate)
            self._ahead.append((isolate, started(modules)))

    def prepare_copies(self, count: int) -> None:
        """Start so many processes ahead of tasks that are not isolated, with all that is imported here.

        They are copies of this process. Where there can be none, as on systems other than Linux, each
        process is started when a task needs it, and imports what that needs.
        """
        if sys.platform != "linux" or self._dispatcher is not None:
            return
        from verify.executors.copies import Copy, can_copy  # noqa: PLC0415 - not on every system

        with contextlib.suppress(OSError):
            for _ in range(count if can_copy() else 0):
                self._ahead.append(("", Copy()))

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Return what will hold the result of ``function``, as every executor does."""
        return self.hand_out(Task(partial(function, **named) if named else function, arguments))

    def hand_out(self, task: Task) -> Future[Any]:
        """Return what will hold the result of a task, or the VerifyError that it led to."""
        future: Future[Any] = Future()
        if self._is_done_here(task):
            try:
                future.set_result(task.function(*task.arguments))
            except Exception as error:  # noqa: BLE001 - whoever asks for the result gets it
                future.set_exception(error)
        else:
            waiting = _Waiting(task, pickle.dumps((task.function, task.arguments)), future)
            self._dispatch()
            self._events.put(waiting)
        return future

    def call(self, task: Task) -> Any:
        """Return what one task leads to, as ``run_tasks`` would."""
        return self.hand_out(task).result()

    def run_tasks(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Any]]:
        """Yield the place of each task with its result, as they are done.

        Raises:
            VerifyError: what a task has raised.
            WorkerError: a task raised something else, or its process ended; ``place`` says which task.
        """
        done: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        places: dict[Future[Any], int] = {}
        try:
            for place, task in enumerate(tasks):
                if self._is_done_here(task):
                    yield place, task.function(*task.arguments)
                    continue
                future = self.hand_out(task)
                places[future] = place
                future.add_done_callback(done.put)
            for _ in range(len(places)):
                future = done.get()
                try:
                    yield places[future], future.result()
                except WorkerError as error:
                    error.place = places[future]
                    raise
        finally:
            for future in places:
                future.cancel()

    def _is_done_here(self, task: Task) -> bool:
        return self.count == 1 and not task.isolate

    def _dispatch(self) -> None:
        if self._dispatcher is None:
            self._dispatcher = threading.Thread(target=self._serve, daemon=True)
            self._dispatcher.start()

    def _serve(self) -> None:
        """Start processes, hand out tasks and pass on results until there is the word to stop."""
        try:
            while self._heed():
                for waiting in list(self._waiting):
                    self._start(waiting)
        finally:
            self._adopt()
            for worker in (*self._idle, *self._at_work):
                worker.end()
            for waiting in (*self._waiting, *self._at_work.values()):
                if not waiting.future.cancel() and not waiting.future.done():
                    waiting.future.set_exception(WorkerError("the workers were closed before it was done"))
            self._idle, self._at_work, self._waiting = [], {}, deque()

    def _heed(self) -> bool:
        """Take in the next event, or the end of processes that did not say so; False is the word to stop."""
        try:
            event = self._events.get(timeout=_LOOK_S)
        except queue.Empty:
            # A process that a task has started may keep the pipe open.
            for one in [one for one in self._at_work if not one.is_alive]:
                self._finish(one, None)
            return True
        self._adopt()
        if isinstance(event, _Waiting):
            self._waiting.append(event)
        elif event is not None and event[0] in self._at_work:
            self._finish(*event)
        return event is not None

    def _adopt(self) -> None:
        """Take over the processes that were started ahead of their tasks."""
        while self._ahead:
            isolate, process = self._ahead.popleft()
            self._idle.append(Worker(isolate, process, self._events))

    def _start(self, waiting: _Waiting) -> None:
        """Give a task to a process, if there is one for it now."""
        if waiting.future.cancelled():
            self._waiting.remove(waiting)
            return
        try:
            worker = self._worker_for(waiting.task)
        except VerifyError as error:
            self._waiting.remove(waiting)
            waiting.future.set_exception(error)
            return
        if worker is not None:
            self._waiting.remove(waiting)
            if not waiting.future.set_running_or_notify_cancel():
                self._idle.append(worker)
                return
            worker.served.add(waiting.task.near)
            self._at_work[worker] = waiting
            worker.send(waiting.message)

    def _worker_for(self, task: Task) -> Worker | None:
        """Return an idle process for a task or a new one; None where it has to wait."""
        for one in [one for one in self._idle if not one.is_alive]:
            self._idle.remove(one)
            one.end()
        is_home_busy = bool(task.near) and any(task.near in one.served for one in self._at_work)
        if is_home_busy or len(self._at_work) >= self.count:
            return None
        fitting = [one for one in self._idle if one.isolate == task.isolate]
        if fitting:
            home = next((one for one in fitting if task.near in one.served), fitting[0])
            self._idle.remove(home)
            return home
        while self._idle and len(self._idle) + len(self._at_work) >= _KEPT * self.count:
            self._idle.pop(0).end()
        return Worker(task.isolate, started(""), self._events)

    def _finish(self, worker: Worker, reply: bytes | None) -> None:
        """Pass on what a process says of its task; without a reply it has ended."""
        future, outcome = self._at_work.pop(worker).future, read(reply)
        if outcome is None:
            future.set_exception(WorkerError(worker.ended()))
            return
        self._idle.append(worker)
        if isinstance(outcome, Done):
            future.set_result(outcome.value)
            return
        raised = getattr(errors, outcome.error, None)
        ours = isinstance(raised, type) and issubclass(raised, VerifyError) and raised is not WorkerError
        future.set_exception(raised(outcome.text) if ours and raised else WorkerError(outcome.text))


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
