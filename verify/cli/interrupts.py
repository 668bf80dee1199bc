"""Signals that end the command, whatever library code is running when they come: Ctrl-C, TERM and HUP."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

INTERRUPTED = "interrupted; every file is complete or unchanged"
"""What is said last."""

_TIDYING_S = 0.4  # seconds for removing temporary files and ending processes

_DEFAULTS: dict[int, Any] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}
"""The signals that end a command, unless the parent process has set them to something else."""

_received = 0  # the number of the first signal
_over = threading.Event()  # set when nothing is left to interrupt


def is_interrupted() -> bool:
    """Return whether a signal is ending the command."""
    return bool(_received) and not _over.is_set()


def status_after() -> int:
    """Return the exit status of a command that a signal has ended, as shells have it."""
    return 128 + (_received or signal.SIGINT)


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt at the first signal; where library code swallows that, end the process soon."""
    global _received  # noqa: PLW0603 - signals come to the process
    _received = 0
    hook = sys.unraisablehook
    handled = [number for number, default in _DEFAULTS.items() if signal.getsignal(number) is default]
    _over.clear()
    # An interruption in a destructor or a callback is passed to this hook.
    sys.unraisablehook = lambda what: None if what.exc_type is KeyboardInterrupt else hook(what)
    for number in handled:
        signal.signal(number, _receive)
    try:
        yield
    finally:
        _over.set()
        sys.unraisablehook = hook
        for number in handled:
            signal.signal(number, _DEFAULTS[number])


def _receive(number: int, _frame: FrameType | None) -> None:
    global _received  # noqa: PLW0603 - as above
    if number in signal.pthread_sigmask(signal.SIG_BLOCK, ()):
        # Another thread received what this thread blocks while it starts a process: it comes again then.
        signal.pthread_kill(threading.get_ident(), number)
    elif not _received:
        _received = number
        threading.Thread(target=_end_at_last, daemon=True).start()
        raise KeyboardInterrupt


def _end_at_last() -> None:
    if not _over.wait(_TIDYING_S):
        os.write(2, f"sdpa-verify: {INTERRUPTED}\n".encode())
        # Worker processes end with this process.
        os._exit(status_after())
