"""Workers of a Dask cluster as an executor."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from concurrent.futures import Executor, Future
from typing import TYPE_CHECKING, Any

from verify.errors import SettingsError, VerifyError, WorkerError

if TYPE_CHECKING:
    from collections.abc import Callable

_JOIN_S = 15
"""Seconds to wait for a scheduler, and for its first worker."""

_GONE_S = 10.0
"""Seconds without a scheduler or any worker after which nobody is waited for."""


_QUIETLY = "ignore:resource_tracker:UserWarning"


class Cluster(Executor):
    """A Dask cluster: at the address of its scheduler, or ``local:N`` for N processes that end with this.

    What a lost worker was at is done again by another one.

    Raises:
        SettingsError: Dask is not installed, or no worker can be reached there.
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
        self._address, self._well = address, time.monotonic()
        with contextlib.ExitStack() as stack:
            target: Any = address
            try:
                if address.startswith("local:"):
                    target = stack.enter_context(_local(address))
                self._client = stack.enter_context(
                    distributed.Client(target, timeout=_JOIN_S, set_as_default=False)
                )
                self._client.wait_for_workers(1, timeout=_JOIN_S)
            except (OSError, TimeoutError, ValueError, RuntimeError) as error:
                raise SettingsError(
                    f"--cluster {address}: no worker can be reached ({' '.join(str(error).split())}); "
                    "start `dask scheduler` and `dask worker`"
                ) from error
            self._executor = self._client.get_executor(pure=False)
            self._stack = stack.pop_all()

    @property
    def workers(self) -> int:
        """How many threads its workers have."""
        threads: int = sum(self._client.nthreads().values())
        return max(1, threads)

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Return what will hold the result of ``function``, or a WorkerError if the cluster fails."""
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        inner = self._executor.submit(function, *arguments, **named)
        inner.add_done_callback(lambda one: _pass_on(one, future))
        return future

    def refuse_if_gone(self) -> None:
        """Raise where there has been no scheduler, or no worker, for a while.

        Raises:
            WorkerError: so it is.
        """
        with contextlib.suppress(Exception):
            if self._client.status == "running" and self._client.nthreads():
                self._well = time.monotonic()
        if time.monotonic() - self._well > _GONE_S:
            raise WorkerError(
                f"--cluster {self._address}: its scheduler or all its workers are gone; start them again: "
                "what was drawn is in the store"
            )

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        """Leave the cluster; end it if it is one of this process's own."""
        with contextlib.suppress(Exception):
            self._stack.close()


def _local(address: str) -> Any:
    import dask  # noqa: PLC0415 - an extra
    from distributed import LocalCluster  # noqa: PLC0415

    number = address.removeprefix("local:")
    if not (number.isascii() and number.isdigit() and int(number)):
        raise SettingsError(f"--cluster {address}: give local:N with a number of processes")
    # Python's own helper of these processes cleans up after an interruption, and need not say so.
    sys.warnoptions.append(_QUIETLY)
    # Nobody looks at the profiles that its processes take of themselves every 10 ms.
    dask.config.set({"distributed.worker.profile.enabled": False})
    try:
        return LocalCluster(
            n_workers=int(number),
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        )
    finally:
        sys.warnoptions.remove(_QUIETLY)


def _pass_on(inner: Any, future: Future[Any]) -> None:
    if inner.cancelled():
        future.set_exception(WorkerError("its task was lost with the cluster's scheduler"))
    elif (error := inner.exception()) is None:
        future.set_result(inner.result())
    elif isinstance(error, VerifyError):
        future.set_exception(error)
    else:
        future.set_exception(WorkerError(" ".join(f"{type(error).__name__}: {error}".split())))
