"""Ctrl-C that ends the command, whatever library code is running when it comes."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


@contextmanager
def insisting() -> Iterator[None]:
    """Repeat Ctrl-C until the command has ended: some library code swallows the first one."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    asked, ended, mine = threading.Event(), threading.Event(), threading.get_ident()

    def interrupt(number: int, frame: FrameType | None) -> None:
        asked.set()
        signal.default_int_handler(number, frame)

    def insist() -> None:
        asked.wait()
        while not ended.wait(0.3):
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
        if asked.is_set():
            # Some compiled modules turn an interruption into an error of their own.
            raise KeyboardInterrupt from None
        raise
    finally:
        ended.set()
        asked.set()
        sys.unraisablehook = hook
        signal.signal(signal.SIGINT, signal.default_int_handler)
