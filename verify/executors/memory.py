"""How much memory a process takes, and how one that draws deals with memory it has freed."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1
"""Parameters of ``mallopt``, as in glibc's malloc.h."""

LARGE = 1 << 25
"""Bytes of an array that is still taken from memory at hand: the most that glibc allows."""

KEPT = 1 << 27
"""Bytes that are kept at most."""


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
    """Look for no garbage meanwhile."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


@contextlib.contextmanager
def made_for_good() -> Iterator[None]:
    """Look for no garbage while what stays is made, such as what is imported, nor among it later."""
    with no_garbage_collection():
        try:
            yield
        finally:
            gc.freeze()


def peak_memory() -> int:
    """Return the most bytes that this process has taken so far; 0 where the system does not say."""
    with contextlib.suppress(ImportError):
        import resource  # noqa: PLC0415 - not on Windows

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else 1024 * most
    return 0
