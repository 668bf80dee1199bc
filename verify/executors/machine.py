"""The machine: processors, versions for a record, memory of a process that draws, and threads that draw."""

import contextlib
import ctypes
import functools
import gc
import importlib.metadata
import os
import platform
import queue
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any

from threadpoolctl import OpenBLASController, ThreadpoolController, threadpool_info

from verify.errors import SettingsError

_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1
"""Parameters of ``mallopt``, as in glibc's malloc.h."""

LARGE = 1 << 25
"""Bytes of an array that is still taken from memory at hand: the most that glibc allows."""

KEPT = 1 << 27
"""Bytes that are kept at most."""

_SELDOM = 100_000  # new objects before garbage is looked for: SymPy makes many, and hardly any in cycles

_version = functools.cache(importlib.metadata.version)
MOST = 1024
"""Processes of one machine: more than any has processors for."""


def processors(workers: int | None, most: int = MOST) -> int:
    """Return how many processors to use, at most ``most``; None means all.

    Raises:
        SettingsError: it is less than one, or more than ``most``.
    """
    if workers is None:
        return min(most, os.cpu_count() or 1)
    if workers < 1:
        raise SettingsError(f"--workers {workers}: at least one is needed")
    if workers > most:
        raise SettingsError(f"--workers {workers}: give at most {most}")
    return workers


def environment(workers: int, packages: Sequence[str]) -> dict[str, str]:
    """Return the system, the versions of Python and of ``packages``, and the linear algebra, for a record."""
    versions = {name: _version(name) for name in packages}
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "processors": str(os.cpu_count()),
        "workers": str(workers),
        "linear algebra": linear_algebra(),
        **versions,
    }


def linear_algebra() -> str:
    """Return the libraries of linear algebra with their versions and the instructions that they use.

    Which instructions sum decides how the last digits of an estimate are rounded.
    """
    libraries = (library for library in threadpool_info() if library["user_api"] == "blas")
    names = {
        "{internal_api} {version} {architecture}".format_map({"architecture": "", **of}) for of in libraries
    }
    return ", ".join(sorted(name.strip() for name in names))


def keep_freed() -> None:
    """Keep memory that is freed for the next array, where the C library is glibc; elsewhere do nothing.

    Otherwise each array of a batch is taken from the system again and given back, which empties every page
    of it: that takes longer than to fill it with random numbers.
    """
    if sys.platform != "linux":
        return
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(_MMAP_THRESHOLD, LARGE)
        library.mallopt(_TRIM_THRESHOLD, KEPT)


@contextlib.contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Collect no garbage inside the ``with`` block."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


@contextlib.contextmanager
def made_for_good() -> Iterator[None]:
    """Collect no garbage inside the block, nor later among what it makes, such as imported modules.

    After it, garbage is looked for seldom, in a process that verifies from then on.
    """
    with no_garbage_collection():
        try:
            yield
        finally:
            gc.freeze()
            gc.set_threshold(_SELDOM, *gc.get_threshold()[1:])


class Threads(Executor):
    """A number of threads of this process as an executor; none keeps the process from ending.

    They start with the first task. Tasks go through a queue whose lock no interruption can leave held.
    """

    def __init__(self, count: int) -> None:
        self._tasks: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._count, self._threads = count, list[threading.Thread]()

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Return what will hold the result of ``function``."""
        future: Future[Any] = Future()
        while len(self._threads) < self._count:
            self._threads.append(threading.Thread(target=self._serve, daemon=True))
            self._threads[-1].start()

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
