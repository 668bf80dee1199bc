"""Signals that end the command, whatever library code is running when they come: Ctrl-C, TERM and HUP."""

import _thread
import math
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

INTERRUPTED = "interrupted; every file is complete or unchanged"
"""What is said last."""

_ONE_CALL = 0.25  # seconds within which a signal counts once

_DEFAULTS: dict[int, Any] = {
    signal.SIGINT: signal.default_int_handler,
    **{getattr(signal, name): signal.SIG_DFL for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)},
}
"""The signals that end a command, unless the parent process has set them to something else."""


class _Interrupt:
    """Handles the signals; ``number`` is that of the first one, 0 before it, and ``wake`` is set by each."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget what came before."""
        self.number = 0
        self.wake = threading.Event()
        self._last = -math.inf

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        self.number = self.number or number
        self.wake.set()
        if hasattr(signal, "pthread_sigmask") and number in signal.pthread_sigmask(signal.SIG_BLOCK, ()):
            # Another thread received what this one blocks while it starts a process: it is sent again.
            return
        if time.monotonic() - self._last > _ONE_CALL:
            self._last = time.monotonic()
            raise KeyboardInterrupt


_interrupt = _Interrupt()


def status_after() -> int:
    """Return the exit status of a command that a signal has ended, as shells have it."""
    return 128 + (_interrupt.number or signal.SIGINT)


@contextmanager
def insisting() -> Iterator[None]:
    """Raise KeyboardInterrupt at the signals, again and again: some library code swallows the first one.

    What a person repeats faster is one interruption; tidying up must have the time to do so.
    """
    handled = [number for number, default in _DEFAULTS.items() if signal.getsignal(number) is default]
    if not handled:
        with _as_interruption():
            yield
        return
    _interrupt.reset()
    ended, wake, mine = threading.Event(), _interrupt.wake, threading.get_ident()

    def insist() -> None:
        wake.wait()
        while not ended.wait(1.2 * _ONE_CALL):
            if hasattr(signal, "pthread_kill"):
                # A real signal also wakes a thread that waits for a lock.
                signal.pthread_kill(mine, _interrupt.number)
            else:
                _thread.interrupt_main()

    hook = sys.unraisablehook
    threading.Thread(target=insist, daemon=True).start()
    for number in handled:
        signal.signal(number, _interrupt)
    sys.unraisablehook = lambda one: None if one.exc_type is KeyboardInterrupt else hook(one)
    try:
        with _as_interruption():
            yield
    finally:
        ended.set()
        wake.set()
        sys.unraisablehook = hook
        for number in handled:
            signal.signal(number, _DEFAULTS[number])


@contextmanager
def _as_interruption() -> Iterator[None]:
    """Turn back what compiled modules have made of an interruption: an error of their own."""
    try:
        yield
    except Exception:
        if _interrupt.number:
            raise KeyboardInterrupt from None
        raise
