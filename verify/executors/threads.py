"""Threads that draw: how many there are changes no result."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


@contextmanager
def thread_map(workers: int) -> Iterator[Callable[..., Iterable[Any]]]:
    """Yield a function like ``map`` that uses so many threads; NumPy lets go of the interpreter in them.

    Each thread gets one task, every ``workers``-th batch, instead of one task a batch: Ctrl-C in the midst
    of handing out tasks can leave the executor's lock held, and there is next to no such moment here.
    """
    if workers == 1:
        yield map
        return
    executor, stop = ThreadPoolExecutor(workers), threading.Event()

    def spread(function: Callable[[int], Any], batches: Iterable[int]) -> list[Any]:
        numbers = list(batches)

        def share(worker: int) -> list[Any]:
            return [function(number) for number in numbers[worker::workers] if not stop.is_set()]

        shares = list(executor.map(share, range(workers)))
        return [shares[place % workers][place // workers] for place in range(len(numbers))]

    try:
        yield spread
    except BaseException:
        # Threads stop after the batch at hand, in milliseconds; waiting for them here could hang.
        stop.set()
        executor.shutdown(wait=False, cancel_futures=True)
        raise
    executor.shutdown()
