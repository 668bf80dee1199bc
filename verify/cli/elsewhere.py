"""The option ``--cluster``: workers on other machines."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verify.executors.cluster import Cluster


@contextlib.contextmanager
def joined(address: str | None) -> Iterator[Cluster | None]:
    """Yield a cluster, None where none is wanted.

    Raises:
        SettingsError: there is no cluster at that address, or Dask is not installed.
    """
    if address is None:
        yield None
        return
    from verify.executors.cluster import Cluster

    with Cluster(address) as cluster:
        yield cluster
