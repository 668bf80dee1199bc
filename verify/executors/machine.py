"""The machine: processors, versions for a record, memory of a process that draws, and threads that draw."""

import ctypes
import gc
import importlib.metadata
import os
import platform
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from threadpoolctl import OpenBLASController, ThreadpoolController, threadpool_info

from verify.errors import SettingsError

# Parameters of mallopt, as in glibc's malloc.h: the largest array that is still taken from memory at hand, in
# bytes, the most that glibc allows; and how many freed bytes stay with the process.
_MALLOC = {-3: 1 << 25, -1: 1 << 27}


def processors(workers: int | None) -> int:
    """Return how many processors to use; None means all.

    Raises:
        SettingsError: it is less than 1.
    """
    if workers is not None and workers < 1:
        raise SettingsError(f"--workers {workers}: at least one is needed")
    return workers or os.cpu_count() or 1


def environment(workers: int, packages: Sequence[str]) -> dict[str, str]:
    """Return the system, the versions of Python and of ``packages``, and the linear algebra, for a record."""
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "processors": str(os.cpu_count()),
        "workers": str(workers),
        "linear algebra": linear_algebra(),
        **{name: importlib.metadata.version(name) for name in packages},
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
        for parameter, size in _MALLOC.items():
            library.mallopt(parameter, size)


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Collect no garbage inside the ``with`` block."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


@contextmanager
def threads_of(count: int) -> Iterator[Executor]:
    """Yield this many threads as an executor; NumPy lets go of the interpreter in them.

    When the block ends they stop with the task at hand, and are not waited for.
    """
    threads = ThreadPoolExecutor(count)
    try:
        yield threads
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


_blas = threading.Lock()
_users = 0
_limits: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let linear algebra use one thread each while anyone in this process wants it to.

    More threads add in another order. In libraries whose number of threads belongs to the process, the last
    user restores the number before the first. In others each thread of Python has its own.
    """
    global _users, _limits  # noqa: PLW0603 - they belong to the process, too
    libraries = _libraries(len(sys.modules))
    with _blas:
        _users += 1
        if _users == 1:
            _limits = _from_this_thread(lambda: libraries.limit(limits=1))
    try:
        with libraries.limit(limits=1):
            yield
    finally:
        with _blas:
            _users -= 1
            if _users == 0:
                _from_this_thread(_limits.restore_original_limits)


@lru_cache(maxsize=1)
def _libraries(_modules: int) -> ThreadpoolController:
    """Return the controller of all libraries loaded; a new library comes only with a new module."""
    return ThreadpoolController()


def _from_this_thread(change: Callable[[], Any]) -> Any:
    """Return the result of ``change``, which sets limits of the process, as this thread.

    threadpoolctl heeds the first thread only; changes by other threads are ignored without a word.
    """
    OpenBLASController.clear_controlling_thread(force=True)
    try:
        return change()
    finally:
        OpenBLASController.clear_controlling_thread(force=True)
