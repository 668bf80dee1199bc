"""Ctrl-C that ends the command, whatever library code is running when it comes."""

from __future__ import annotations

import _thread
import math
import signal
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


_ONE_CALL = 0.25
"""Seconds within which Ctrl-C counts once."""


class _Interrupt:
    """Handles Ctrl-C; ``asked`` is set once it came."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self._heard = -math.inf

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.asked.set()
        if time.monotonic() - self._heard > _ONE_CALL:
            self._heard = time.monotonic()
            signal.default_int_handler(number, frame)


@contextmanager
def insisting() -> Iterator[None]:
    """Repeat Ctrl-C until the command has ended: some library code swallows the first one.

    What a person repeats faster is one interruption; tidying up must have the time to shut its ears.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    interrupt, ended, mine = _Interrupt(), threading.Event(), threading.get_ident()

    def insist() -> None:
        interrupt.asked.wait()
        while not ended.wait(1.2 * _ONE_CALL):
            if hasattr(signal, "pthread_kill"):
                # A real signal also wakes a thread that waits for a lock.
                signal.pthread_kill(mine, signal.SIGINT)
            else:
                _thread.interrupt_main()

    hook = sys.unraisablehook
    threading.Thread(target=insist, daemon=True).start()
    signal.signal(signal.SIGINT, interrupt)
    sys.unraisablehook = lambda one: None if one.exc_type is KeyboardInterrupt else hook(one)
    try:
        yield
    except Exception:
        if interrupt.asked.is_set():
            # Some compiled modules turn an interruption into an error of their own.
            raise KeyboardInterrupt from None
        raise
    finally:
        ended.set()
        interrupt.asked.set()
        sys.unraisablehook = hook
        signal.signal(signal.SIGINT, signal.default_int_handler)
