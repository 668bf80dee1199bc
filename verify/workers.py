"""Processes for claims and threads that draw: how many there are changes no result."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import FrameType

_MASKS = hasattr(signal, "pthread_sigmask")
_IDLE_S = 300
"""Seconds after which idle processes end. One that ends just as it is given work costs a warning, or, where
warnings are errors, the work: so not soon."""

_executors: list[Any] = []
"""The executor whose processes stay for the next call, if there is one."""


@contextmanager
def mapping(workers: int) -> Iterator[Callable[..., Iterable[Any]]]:
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


def each(
    function: Callable[..., Any],
    tasks: Sequence[tuple[Any, ...]],
    processes: int,
    started: Callable[[int], None] = lambda _place: None,
) -> Iterator[tuple[int, Any]]:
    """Yield the place of each task with what ``function`` returns for it, as they are done.

    One process means this one. Otherwise others work, one task each at a time, and stay for the next call
    until they have been idle for a while; ``started`` hears a task's place when its turn comes.
    """
    if processes == 1:
        for place, task in enumerate(tasks):
            started(place)
            yield place, function(*task)
        return
    # Its processes do not load the caller's main script anew, as those of the standard library do.
    from loky import get_reusable_executor  # noqa: PLC0415 - not needed where one process works

    at_work: dict[Future[Any], int] = {}
    try:
        with _deaf_to_interruption(), _quiet_helpers():
            executor = get_reusable_executor(max_workers=processes, timeout=_IDLE_S)
            _executors[:] = [executor]
        for place in range(len(tasks)):
            started(place)
            with _deaf_to_interruption():
                at_work[executor.submit(function, *tasks[place])] = place
            if len(at_work) == processes:
                yield from _finished(at_work)
        while at_work:
            yield from _finished(at_work)
    except BaseException:
        dismiss()
        raise


def dismiss() -> None:
    """End the processes that wait for the next call; a command that ends in haste would leave them behind."""
    while _executors:
        _kill(_executors.pop())


@contextmanager
def _quiet_helpers() -> Iterator[None]:
    """Start helper processes that do not tell of what an interruption leaves behind, and they then remove."""
    name, wanted = "PYTHONWARNINGS", "ignore:resource_tracker"
    before = os.environ.get(name)
    os.environ[name] = f"{before},{wanted}" if before else wanted
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _kill(executor: Any) -> None:
    """End an executor's processes at once; Ctrl-C, which may well be repeated, must not leave them behind."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if _MASKS else None
    try:
        while True:
            try:
                executor.shutdown(wait=True, kill_workers=True)
            except KeyboardInterrupt:
                continue
            return
    finally:
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _finished(at_work: dict[Future[Any], int]) -> Iterator[tuple[int, Any]]:
    """Wait until something is done; yield it and forget it."""
    done, _ = wait(at_work, return_when=FIRST_COMPLETED)
    for future in sorted(done, key=at_work.__getitem__):
        yield at_work.pop(future), future.result()


@contextmanager
def _deaf_to_interruption() -> Iterator[None]:
    """Start processes that do not hear Ctrl-C: the one that started them does, and ends them.

    It hears it after they are started, as half-started ones are not known well enough to be ended.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[tuple[int, FrameType | None]] = []
    handler = signal.signal(signal.SIGINT, lambda *call: heard.append(call))
    mask = None
    if _MASKS:
        # Python starts this helper with the first process, and lifts the mask then.
        resource_tracker.ensure_running()
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, handler)
        if heard and callable(handler):
            handler(*heard[0])
