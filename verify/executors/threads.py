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

    Each thread gets one task, every ``workers``-th item, instead of one task an item: Ctrl-C in the midst
    of handing out tasks can leave the executor's lock held, and there is next to no such moment here.
    """
    if workers == 1:
        yield map
        return
    executor, stop = ThreadPoolExecutor(workers), threading.Event()

    def spread(function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        tasks = list(items)

        def share(worker: int) -> list[Any]:
            return [function(task) for task in tasks[worker::workers] if not stop.is_set()]

        shares = list(executor.map(share, range(workers)))
        return [shares[place % workers][place // workers] for place in range(len(tasks))]

    try:
        yield spread
    except BaseException:
        # Threads stop after the item at hand; waiting for them here could hang.
        stop.set()
        executor.shutdown(wait=False, cancel_futures=True)
        raise
    executor.shutdown()
