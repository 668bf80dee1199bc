"""Reads what a user gives: regular files below a stated size, or standard input where that is allowed."""

import errno
import io
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from verify.errors import VerifyError

STANDARD_INPUT = Path("-")
MEGABYTE = 1_000_000
_DASH = "give - to read from standard input"


class InputKind(NamedTuple):
    """A kind of input: how many bytes it may have, the error that refuses it, and what to give instead.

    ``dash`` says whether ``-`` stands for standard input.
    """

    at_most: int
    error: type[VerifyError]
    wanted: str
    dash: bool = False


def read_text(path: Path, kind: InputKind) -> str:
    """Return the text of an input.

    Raises:
        VerifyError: as `read_bytes`, or it is not UTF-8; of the type that ``kind`` names.
    """
    content = read_bytes(path, kind)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise kind.error(f"{path}: line {line}: is not text in UTF-8; {kind.wanted}") from error


def read_bytes(path: Path, kind: InputKind) -> bytes:
    """Return the content of an input.

    Raises:
        VerifyError: it cannot be read, is not a regular file, or is too large; of the type of ``kind``.
    """
    try:
        content = _from_standard_input(kind.at_most) if kind.dash and path == STANDARD_INPUT else None
        content = head(path, kind.at_most + 1) if content is None else content
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        is_pipe = isinstance(error, OSError) and error.errno == errno.ESPIPE
        wanted = _DASH if kind.dash and is_pipe else kind.wanted
        raise kind.error(f"{path}: cannot be read ({reason}); {wanted}") from error
    if len(content) > kind.at_most:
        raise kind.error(f"{path}: is larger than {kind.at_most // MEGABYTE} MB; {kind.wanted}")
    return content


def head(path: Path, size: int) -> bytes:
    """Return at most the first ``size`` bytes of a regular file.

    Raises:
        OSError: it cannot be read, or is none: a device may have no end, and a pipe no writer.
    """
    with open_regular(path) as stream:
        return _up_to(size, stream.read)


@contextmanager
def open_regular(path: Path) -> Iterator[io.FileIO]:
    """Open a regular file to read its bytes, without a buffer.

    Raises:
        OSError: it cannot be read, or is none: a device may have no end, and a pipe no writer.
    """
    with open(path, "rb", buffering=0, opener=_without_waiting) as stream:
        mode = os.fstat(stream.fileno()).st_mode
        if not stat.S_ISREG(mode):
            kind = "a pipe" if stat.S_ISFIFO(mode) else "no regular file"
            raise OSError(errno.ESPIPE if stat.S_ISFIFO(mode) else errno.EINVAL, f"is {kind}")
        yield stream


def _without_waiting(path: str, flags: int) -> int:
    # A pipe without a writer would be waited for; on some systems there is no such flag, nor such pipes.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _from_standard_input(at_most: int) -> bytes:
    if sys.stdin is None:
        raise OSError(errno.EBADF, "standard input is closed")
    return _up_to(at_most + 1, sys.stdin.buffer.read)


def _up_to(size: int, read: Callable[[int], bytes | None]) -> bytes:
    parts = []
    while size > 0 and (part := read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
