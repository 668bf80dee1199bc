"""Threads that draw: how many there are changes no result."""

import queue
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any

from threadpoolctl import OpenBLASController, ThreadpoolController


class Threads(Executor):
    """A number of threads of this process as an executor; none keeps the process from ending.

    Tasks go through a queue whose lock no interruption can leave held.
    """

    def __init__(self, count: int) -> None:
        self._tasks: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Return what will hold the result of ``function``."""
        future: Future[Any] = Future()

        def work() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(function(*arguments, **named))
                except BaseException as error:  # noqa: BLE001 - the caller of result() gets it
                    future.set_exception(error)

        self._tasks.put(work)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        """Let the threads end after the task at hand; tasks not begun are left undone."""
        with suppress(queue.Empty):
            while True:
                self._tasks.get_nowait()
        for _ in self._threads:
            self._tasks.put(None)

    def _serve(self) -> None:
        while (work := self._tasks.get()) is not None:
            work()


@contextmanager
def thread_map(workers: int) -> Iterator[Callable[..., Iterable[Any]]]:
    """Yield a function like ``map`` that uses ``workers`` threads; NumPy lets go of the interpreter in them.

    After an error they stop with the item at hand, and are not waited for.
    """
    if workers == 1:
        yield map
        return
    threads = Threads(workers)
    try:
        yield threads.map
    finally:
        threads.shutdown()


_blas = threading.Lock()
_users = 0
_limits: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let linear algebra use one thread each while anyone in this process wants it to.

    More threads add in another order. In some libraries their number belongs to the process: the last
    one puts back what the first one found. In others each thread of Python has its own.
    """
    global _users, _limits  # noqa: PLW0603 - they belong to the process, too
    with _blas:
        if _users == 0:
            _limits = _from_this_thread(lambda: _libraries(len(sys.modules)).limit(limits=1))
        _users += 1
    try:
        with _libraries(len(sys.modules)).limit(limits=1):
            yield
    finally:
        with _blas:
            _users -= 1
            if _users == 0:
                _from_this_thread(_limits.restore_original_limits)


@lru_cache(maxsize=1)
def _libraries(_modules: int) -> ThreadpoolController:
    """Return what sets the limits of all libraries loaded; another comes only with another module."""
    return ThreadpoolController()


def _from_this_thread(change: Callable[[], Any]) -> Any:
    """Return what ``change`` does to the limits of the process, as this thread.

    threadpoolctl heeds one thread, the first; what others want is left undone without a word.
    """
    OpenBLASController.clear_controlling_thread(force=True)
    try:
        return change()
    finally:
        OpenBLASController.clear_controlling_thread(force=True)
