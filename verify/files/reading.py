"""Reads what a user gives: files below a stated size, or standard input where that is allowed."""

import sys
from pathlib import Path
from typing import NamedTuple

from verify.errors import VerifyError

STANDARD_INPUT = Path("-")
MEGABYTE = 1_000_000


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
        VerifyError: it cannot be read, or is too large; of the type of ``kind``.
    """
    from_standard_input = kind.dash and path == STANDARD_INPUT
    if from_standard_input and sys.stdin is None:
        raise kind.error(f"{path}: cannot be read (standard input is closed); {kind.wanted}")
    try:
        content = (
            sys.stdin.buffer.read(kind.at_most + 1) if from_standard_input else head(path, kind.at_most + 1)
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise kind.error(f"{path}: cannot be read ({reason}); {kind.wanted}") from error
    if len(content) > kind.at_most:
        raise kind.error(f"{path}: is larger than {kind.at_most // MEGABYTE} MB; {kind.wanted}")
    return content


def head(path: Path, size: int) -> bytes:
    """Return at most the first ``size`` bytes of a file.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as stream:
        return stream.read(size)
