"""Workers of a Dask cluster as an executor."""

import logging
import re
import warnings
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from verify.errors import SettingsError

_JOIN_S = 15  # seconds to wait for a scheduler, and for its first worker
_ADDRESS = re.compile(r"(?:(?:tcp|tls|ucx|wss?)://)?[^\s/]+:\d{1,5}")


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
