"""Workers of a Dask cluster as an executor."""

import contextlib
import logging
import math
import multiprocessing
import os
import re
import signal
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from multiprocessing import forkserver
from pkgutil import resolve_name
from typing import Any

from verify.errors import SettingsError, WorkerError, described
from verify.executors.machine import KEPT, LARGE, MOST
from verify.executors.workers import portable, signals_blocked, start_tracker

_JOIN_S = 15  # seconds to wait for a scheduler, and for its first worker
_ASK_S = 5  # seconds for workers to say that they have this tool; one that is busy then may be asked nothing
_GONE_S = 10.0  # seconds without a scheduler or any worker after which a run ends
_COUNT_S = 1.0  # seconds after which workers are counted again, so that those that join later have work
_SILENT_S = 30  # seconds that a scheduler may take to answer: as many as Dask gives a connection

_LOST = "its task was lost with the cluster's scheduler"

_CONFIGURATION = {
    # Profiles and loads are not used here, and taken up to 100 times a second by each process.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.memory.monitor-interval": "1s",
}
"""What Dask does otherwise for ``local:N``."""

_ENVIRONMENT = {
    # With Dask's 64 KiB memory goes back to the system after each array: drawing took twice the time.
    "MALLOC_TRIM_THRESHOLD_": str(KEPT),
    "MALLOC_MMAP_THRESHOLD_": str(LARGE),
    # A thread's own heap heeds neither: drawing took a fifth longer.
    "MALLOC_ARENA_MAX": "1",
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
}
"""Read once, as the process starts that those of ``local:N`` are copies of."""

_PRELOADED = ["distributed", "verify.engine.backends"]
"""What all processes of ``local:N`` need; where they are copies of one, it imports that meanwhile."""

_COPIED = sys.platform == "linux"
"""Whether processes of ``local:N`` are copies of one, which Python does reliably on Linux only."""

_LOCAL = "local:"  # how an address begins that stands for processes of this run alone

_ADDRESS = re.compile(r"(?:(?:tcp|tls|ucx|wss?)://)?[^\s/]+:\d{1,5}")


class Cluster(Executor):
    """A Dask cluster: at the address of its scheduler, or ``local:N`` for N processes that end with this.

    What a lost worker was at is done again by another one.

    Raises:
        SettingsError: Dask is not installed, or no worker can be reached there, or one lacks this tool.
    """

    def __init__(self, address: str) -> None:
        try:
            import distributed  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise SettingsError(
                f"--cluster {address}: needs Dask; install it with `pip install 'sdpa-verify[dask]'`"
            ) from error
        # What happens to a cluster is said here in one line.
        for name in [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        _refuse_misspelt(address)
        self._address, self._well = address, time.monotonic()
        self._threads, self._counted = 0, -math.inf
        with contextlib.ExitStack() as stack, warnings.catch_warnings():
            # Dask prints a table of its packages' versions; those that matter are compared with each task.
            warnings.simplefilter("ignore", distributed.versions.VersionMismatchWarning)
            target: Any = address
            try:
                if address.startswith(_LOCAL):
                    target = stack.enter_context(_local(address))
                self._client = stack.enter_context(
                    distributed.Client(target, timeout=_JOIN_S, set_as_default=False)
                )
                self._client.wait_for_workers(1, timeout=_JOIN_S)
            except (OSError, TimeoutError, ValueError, RuntimeError, TypeError) as error:
                fix = (
                    "run it again"
                    if address.startswith(_LOCAL)
                    else "start `dask scheduler` and `dask worker`"
                )
                raise SettingsError(
                    f"--cluster {address}: no worker can be reached ({' '.join(str(error).split())}); {fix}"
                ) from error
            self._refuse_without_this_tool()
            self._executor = self._client.get_executor(pure=False)
            self._stack = stack.pop_all()

    def _refuse_without_this_tool(self) -> None:
        """Refuse a worker that cannot import this tool: its first task would end it without a word."""
        asked = {
            worker: self._client.submit(resolve_name, f"{__name__}:Cluster", workers=[worker], pure=False)
            for worker in self._client.nthreads()
        }
        until = time.monotonic() + _ASK_S
        for worker, future in asked.items():
            error = None
            with contextlib.suppress(TimeoutError):
                error = future.exception(timeout=max(0.1, until - time.monotonic()))
            if error is not None:
                raise SettingsError(
                    f"--cluster {self._address}: worker {worker} lacks sdpa-verify ({described(error)}); "
                    "install the same version there"
                )

    @property
    def workers(self) -> int:
        """How many threads its workers have, as it was a moment ago."""
        self._count()
        return max(1, self._threads)

    def _count(self) -> None:
        """Ask the scheduler now and then how many threads its workers have; where it is silent, keep that."""
        if time.monotonic() - self._counted < _COUNT_S:
            return
        with contextlib.suppress(Exception):
            threads = self._client.sync(self._client.scheduler.ncores, callback_timeout=_SILENT_S)
            self._threads = sum(threads.values())
            if self._client.status == "running" and self._threads:
                self._well = time.monotonic()
        self._counted = time.monotonic()

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Return what will hold the result of ``function``, or a WorkerError if the cluster fails."""
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()

        def pass_on(done: Future[Any]) -> None:
            if done.cancelled():
                future.set_exception(WorkerError(_LOST))
            elif (error := done.exception()) is not None:
                future.set_exception(portable(error))
            else:
                future.set_result(done.result())

        try:
            self._executor.submit(partial(function, **named), *arguments).add_done_callback(pass_on)
        except Exception:
            # Dask closes its client by itself, with errors of several kinds.
            if self._client.status == "running":
                raise
            future.set_exception(WorkerError(_LOST))
        return future

    def refuse_if_gone(self) -> None:
        """Raise where there has been no scheduler, or no worker, for a while.

        Raises:
            WorkerError: so it is.
        """
        self._count()
        if time.monotonic() - self._well > _GONE_S:
            raise WorkerError(
                f"--cluster {self._address}: its scheduler or all its workers are gone; start them again: "
                "a run goes on from what its store has"
            )

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        """Leave the cluster; end it if it is one of this process's own."""
        with contextlib.suppress(Exception):
            self._stack.close()


def _refuse_misspelt(address: str) -> None:
    """Refuse what is not an address; Dask would look for a scheduler there first, and for long."""
    if address.startswith(_LOCAL):
        number = address.removeprefix(_LOCAL)
        if not (number.isdigit() and 0 < int(number) <= MOST):
            raise SettingsError(f"--cluster {address}: give local:N with a number of processes, 1 to {MOST}")
    elif not _ADDRESS.fullmatch(address):
        raise SettingsError(
            f"--cluster {address or repr(address)}: is not an address; give HOST:PORT or local:N"
        )


def get_ready(address: str) -> None:
    """Start what processes of ``local:N`` are copies of: it imports what they need while this one does."""
    if not (address.startswith(_LOCAL) and _COPIED):
        return
    # Starting the tracker later would let Ctrl-C reach the processes.
    start_tracker()
    multiprocessing.get_context("forkserver").set_forkserver_preload(_PRELOADED)
    before = dict(os.environ)
    os.environ.update(_ENVIRONMENT)
    try:
        with signals_blocked({signal.SIGINT}):
            forkserver.ensure_running()
    finally:
        os.environ.clear()
        os.environ.update(before)


def _local(address: str) -> Any:
    import dask  # noqa: PLC0415 - an extra
    from distributed import LocalCluster  # noqa: PLC0415

    get_ready(address)
    method = {"distributed.worker.multiprocessing-method": "forkserver"} if _COPIED else {}
    with dask.config.set({**_CONFIGURATION, **method}), signals_blocked({signal.SIGINT}):
        return LocalCluster(
            n_workers=int(address.removeprefix(_LOCAL)),
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        )
