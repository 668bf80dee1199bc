"""The machine and who works on it: processors, memory, linear algebra; threads, processes, a Dask cluster."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib.metadata
import logging
import multiprocessing
import os
import platform
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from multiprocessing import resource_tracker
from types import ModuleType
from typing import Any, cast

from threadpoolctl import get_cached_controller, threadpool_info

from verify.errors import SettingsError, VerifyError

_JOIN_S = 15  # seconds to wait for a scheduler, and for its first worker
_ADDRESS = re.compile(r"(?:(?:tcp|tls|ucx|wss?)://)?[^\s/]+:\d{1,5}")

# Parameters of mallopt, as in glibc's malloc.h: the largest array that is still taken from memory at hand, in
# bytes, the most that glibc allows; and how many freed bytes stay with the process.
_MALLOC = {-3: 1 << 25, -1: 1 << 27}


PACKAGES = ("numpy", "scipy", "sympy", "matplotlib", "weasyprint")
"""Packages whose versions a run records."""


def environment(workers: int, packages: Sequence[str] = PACKAGES) -> dict[str, str]:
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


def one_blas_thread() -> AbstractContextManager[object]:
    """Let linear algebra use one thread inside the ``with`` block, as more would add in another order.

    In some libraries the number of threads belongs to the process, and the first of Python's threads that
    sets it decides until it leaves its block: so a run has a block around all of its threads. In others each
    thread of Python has its own number.
    """
    return cast("AbstractContextManager[object]", get_cached_controller().limit(limits=1))


# --- processes ---


class Workers(Executor):
    """A number of processes, one for each processor by default; a single worker is this process itself.

    That does tasks as they are submitted. Others are copies of this one, with all that is imported here,
    where it has no other threads and the system is Linux. None outlives it, and Ctrl-C is for this process.

    Raises:
        SettingsError: there is to be less than one.
    """

    def __init__(self, count: int | None = None) -> None:
        if count is not None and count < 1:
            raise SettingsError(f"--workers {count}: at least one is needed")
        self.count = count or os.cpu_count() or 1
        self._pool: Any = None
        # This process draws as well where it works alone.
        keep_freed()

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Return the future result of ``function``.

        Raises:
            VerifyError: the system allows no more processes.
        """
        future: Future[Any] = Future()
        if self.count == 1:
            try:
                future.set_result(function(*arguments, **named))
            except Exception as error:  # noqa: BLE001 - raised where the result is asked for
                future.set_exception(error)
            return future
        # New processes start here: no signal finds them half made.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        # A new process would run the user's program once more.
        main, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
        try:
            with warnings.catch_warnings():
                # Python warns of copies where there are threads, those of linear algebra too.
                warnings.simplefilter("ignore", DeprecationWarning)
                if self._pool is None:
                    self._pool = ProcessPoolExecutor(self.count, _context(), _begin)
                future = self._pool.submit(function, *arguments, **named)
        except BrokenExecutor as error:
            # As where it breaks a moment later.
            future.set_exception(error)
        except OSError as error:
            raise VerifyError(
                f"{sys.executable or 'python'}: a process cannot be started ({error.strerror}); "
                "allow more processes or take fewer --workers"
            ) from error
        finally:
            sys.modules["__main__"] = main
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return future

    def start(self) -> None:
        """Start the processes now: where there are other threads later, they could not be copies."""
        self.submit(os.getpid)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        """End all processes, whatever they are at."""
        pool, self._pool = self._pool, None
        if pool is not None:
            # Threads of the pool would wait for ever at these for the rest of a message; a broken pool closes
            # the first itself.
            if not pool._broken:
                pool._call_queue._reader.close()
            pool._result_queue._writer.close()
            for process in list(pool._processes.values()):
                process.kill()
            pool.shutdown(cancel_futures=True)


def using(workers: Workers | int | None) -> AbstractContextManager[Workers]:
    """Return a context with these workers, or with this number of new workers that end with it."""
    return contextlib.nullcontext(workers) if isinstance(workers, Workers) else Workers(workers)


def _context() -> Any:
    """Return how processes are made: as copies of this one where it has no other threads, or from nothing.

    The command line's thread that waits for signals may be there. JAX and PyTorch have threads that Python
    does not know of, and a copy of a process would wait for them.
    """
    is_main = threading.current_thread() is threading.main_thread()
    has_hidden = not sys.modules.keys().isdisjoint(("jax", "torch"))
    if sys.platform == "linux" and is_main and threading.active_count() <= 2 and not has_hidden:
        return multiprocessing.get_context("fork")
    # Python's helper that cleans up after killed processes would warn of its work.
    quietly = "ignore:resource_tracker:UserWarning"
    sys.warnoptions.append(quietly)
    try:
        resource_tracker.ensure_running()
    finally:
        sys.warnoptions.remove(quietly)
    return multiprocessing.get_context("spawn")


def _begin() -> None:
    """Make a worker of a new process: it leaves signals alone, and ends with its parent."""
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())

    def end_with_parent() -> None:
        if (parent := multiprocessing.parent_process()) is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
    keep_freed()


# --- a cluster ---


@contextmanager
def connected(address: str | None) -> Iterator[Executor | None]:
    """Yield the Dask cluster with a scheduler at this address as an executor; None without an address.

    The task of a lost worker is done again by another worker.

    Raises:
        SettingsError: Dask is not installed, or no worker can be reached there.
    """
    if address is None:
        yield None
        return
    # Dask would look for a scheduler there first, and for long.
    if not _ADDRESS.fullmatch(address):
        raise SettingsError(f"--cluster {address or repr(address)}: is not an address; give HOST:PORT")
    try:
        import distributed  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise SettingsError(
            f"--cluster {address}: needs Dask; install it with `pip install '.[dask]'` in the clone"
        ) from error
    # Failures of a cluster are reported here in one line, so its own log is silent.
    for name in [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        # Dask prints a table of its packages' versions; those that matter are compared with each task.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", distributed.versions.VersionMismatchWarning)
            client = distributed.Client(address, timeout=_JOIN_S, set_as_default=False)
            client.wait_for_workers(1, timeout=_JOIN_S)
    except (OSError, TimeoutError, ValueError, RuntimeError, TypeError) as error:
        raise SettingsError(
            f"--cluster {address}: no worker can be reached ({' '.join(str(error).split())}); "
            "start `dask scheduler` and `dask worker`"
        ) from error
    with client:
        yield client.get_executor(pure=False)
