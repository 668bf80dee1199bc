"""The other side of ``verify.executors.workers``: what a worker process runs until its parent ends."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import pickle
import queue
import select
import signal
import struct
import sys
import threading
from typing import Any, NamedTuple, NoReturn

from verify import errors
from verify.executors.memory import keep_freed, made_for_good

HEADER = struct.Struct(">8sQ")
"""What goes before each message: a mark, and the length in bytes of what follows."""
MARK = b"verify-1"

_LONGEST_TEXT = 2000
_PR_SET_PDEATHSIG = 1
_LOOK_S = 0.4
"""Seconds between looks for the parent where the pipe does not show its end."""


class Done(NamedTuple):
    """A task's result."""

    value: Any


class Failed(NamedTuple):
    """What a task raised: the name of an error of ``verify.errors``, or none, and one line."""

    error: str
    text: str


def main(modules: str) -> None:
    """Work on tasks as they come; ``modules``, names joined by commas, are imported while none is there.

    A function that a name goes on with, after a colon, is called.
    """
    requests, replies = _own_channels()
    _end_with_parent()
    keep_freed()
    inbox: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests, inbox), daemon=True).start()
    with made_for_good(), contextlib.suppress(Exception):
        # What fails here is reported when a task needs it.
        for name in filter(None, modules.split(",")):
            module, _, function = name.partition(":")
            loaded = importlib.import_module(module)
            if function:
                getattr(loaded, function)()
    process = os.getpid()
    while True:
        reply = _reply(inbox.get())
        if os.getpid() != process:
            # A task forked, and this is the copy: its answer is not awaited.
            os._exit(0)
        _send(replies, reply)


def receive(source: int) -> bytes | None:
    """Return the next message of a pipe, or None where it ends or something else was written to it."""
    head = _exactly(source, HEADER.size)
    if head is None:
        return None
    mark, length = HEADER.unpack(head)
    return _exactly(source, length) if mark == MARK else None


def _exactly(source: int, length: int) -> bytes | None:
    parts = []
    while length:
        part = os.read(source, min(length, 1 << 20))
        if not part:
            return None
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def _send(target: int, message: bytes) -> None:
    left = memoryview(HEADER.pack(MARK, len(message)) + message)
    while left:
        left = left[os.write(target, left) :]


def _reply(request: bytes) -> bytes:
    """Return what a task leads to; nothing that it raises, an exit included, ends this process."""
    try:
        function, arguments = pickle.loads(request)  # noqa: S301 - from the process that started this one
        return pickle.dumps(Done(function(*arguments)))
    except BaseException as error:  # noqa: BLE001 - it is reported to the parent, which raises it
        return pickle.dumps(_failed(error))


def _failed(error: BaseException) -> Failed:
    names = [one.__name__ for one in type(error).__mro__ if getattr(errors, one.__name__, None) is one]
    try:
        text = str(error)
    except BaseException:  # noqa: BLE001 - its text is made by the same code that raised it
        text = "its text cannot be made"
    if not names:
        text = f"{type(error).__name__}: {text}".removesuffix(": ")
    return Failed(names[0] if names else "", " ".join(text[:_LONGEST_TEXT].split()))


def _own_channels() -> tuple[int, int]:
    """Return where requests come from and replies go to; tasks have neither on their standard streams.

    What they print goes where errors go: standard output is for results.
    """
    requests, replies = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    try:
        os.dup2(2, 1)
    except OSError:
        # The parent has no standard error.
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]
    return requests, replies


def _end_with_parent() -> None:
    """Leave Ctrl-C to the parent; on Linux, let the system end this process with the parent's thread."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))


def _listen(requests: int, inbox: queue.SimpleQueue[bytes]) -> None:
    """Pass requests on; end this process, whatever it is doing, when the parent is gone."""
    parent = os.getppid()
    while True:
        if os.name == "posix":
            # The parent may have forked, and its copy keep the pipe open.
            while not select.select([requests], [], [], _LOOK_S)[0]:
                if os.getppid() != parent:
                    _leave()
        message = receive(requests)
        if message is None:
            _leave()
        inbox.put(message)


def _leave() -> NoReturn:
    """End this process and those that its tasks have started."""
    if os.name == "posix" and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)
