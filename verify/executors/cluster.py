"""Workers of a Dask cluster as an executor."""

import logging
import re
import signal
import warnings
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from typing import Any

from verify.errors import SettingsError
from verify.executors.machine import KEPT, LARGE, MOST
from verify.executors.workers import signals_blocked, start_tracker

_JOIN_S = 15  # seconds to wait for a scheduler, and for its first worker

_SPAWNED = "distributed.nanny.pre-spawn-environ."
_CONFIGURATION = {
    # Profiles and loads are not used here, and taken up to 100 times a second by each process.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.memory.monitor-interval": "1s",
    # With Dask's 64 KiB memory goes back to the system after each array: drawing took twice the time.
    f"{_SPAWNED}MALLOC_TRIM_THRESHOLD_": KEPT,
    f"{_SPAWNED}MALLOC_MMAP_THRESHOLD_": LARGE,
    # A thread's own heap heeds neither: drawing took a fifth longer.
    f"{_SPAWNED}MALLOC_ARENA_MAX": 1,
}
"""What Dask does otherwise for ``local:N``."""

_LOCAL = "local:"  # how an address begins that stands for processes of this run alone

_ADDRESS = re.compile(r"(?:(?:tcp|tls|ucx|wss?)://)?[^\s/]+:\d{1,5}")


@contextmanager
def connected(address: str | None) -> Iterator[Executor | None]:
    """Yield a Dask cluster as an executor: at its scheduler's address, or ``local:N`` for N processes.

    These end with the block. Without an address there is none. What a lost worker was at is done again by
    another one.

    Raises:
        SettingsError: Dask is not installed, or no worker can be reached there.
    """
    if address is None:
        yield None
        return
    _refuse_misspelt(address)
    try:
        import dask  # noqa: PLC0415 - an extra
        import distributed  # noqa: PLC0415
    except ImportError as error:
        raise SettingsError(
            f"--cluster {address}: needs Dask; install it with `pip install 'sdpa-verify[dask]'`"
        ) from error
    # What happens to a cluster is said here in one line.
    for name in [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with ExitStack() as stack:
        target: Any = address
        try:
            # Dask prints a table of its packages' versions; those that matter are compared with each task.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", distributed.versions.VersionMismatchWarning)
                if address.startswith(_LOCAL):
                    start_tracker()
                    # Ctrl-C is for this process to handle.
                    with dask.config.set(_CONFIGURATION), signals_blocked({signal.SIGINT}):
                        count = int(address.removeprefix(_LOCAL))
                        target = stack.enter_context(
                            distributed.LocalCluster(
                                n_workers=count,
                                threads_per_worker=1,
                                dashboard_address="127.0.0.1:0",
                                silence_logs=logging.CRITICAL,
                            )
                        )
                client = stack.enter_context(
                    distributed.Client(target, timeout=_JOIN_S, set_as_default=False)
                )
                client.wait_for_workers(1, timeout=_JOIN_S)
        except (OSError, TimeoutError, ValueError, RuntimeError, TypeError) as error:
            raise SettingsError(
                f"--cluster {address}: no worker can be reached ({' '.join(str(error).split())}); "
                "start `dask scheduler` and `dask worker`"
            ) from error
        yield client.get_executor(pure=False)


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
