"""Writes files whole or not at all: what was there before stays until the new content is complete."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from verify.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def write_whole(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path`` through a temporary file beside it, then rename.

    Raises:
        OutputError: the folder cannot be made or written, or the disk is full.
    """
    write_together({path: content})


def write_together(files: Mapping[Path, bytes]) -> None:
    """Write several files; none is replaced before all of them lie complete on the disk.

    A link stays one: what it leads to is replaced, and keeps its mode. To what is no file of its own, such as
    ``/dev/stdout``, the content is appended.

    Raises:
        OutputError: a folder cannot be made or written, a file is read-only, or the disk is full.
    """
    waiting: dict[Path, Path] = {}
    try:
        for path, content in files.items():
            with _told_as_output_error(path):
                if not _is_device(path):
                    waiting[path] = _beside(path)
                    _fill(waiting[path], content, _mode(_led_to(path)))
        for path, content in files.items():
            with _told_as_output_error(path):
                if path in waiting:
                    waiting[path].replace(_led_to(path))
                    del waiting[path]
                else:
                    with path.open("ab") as stream:
                        stream.write(content)
    finally:
        for leftover in waiting.values():
            leftover.unlink(missing_ok=True)


def is_read_only(path: Path) -> bool:
    """Return whether nobody may write a file; the superuser could, but whoever made it so meant it."""
    return not path.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH)


def check_writable(folder: Path, name: str = "results.json") -> None:
    """Make ``folder`` and try it with an empty file, so that a long run does not end in vain.

    Raises:
        OutputError: the folder cannot be made or written, or a folder is in the place of the file ``name``.
    """
    path = folder / name
    with _told_as_output_error(path):
        if _is_device(path):
            return
        _beside(path).unlink()
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))


def _is_device(path: Path) -> bool:
    # Where standard output goes to a file, /dev/stdout leads to that file, which holds more than ours.
    borrowed = path.absolute().is_relative_to("/dev") or path.absolute().is_relative_to("/proc")
    return path.exists() and not path.is_dir() and (borrowed or not path.is_file())


def _led_to(path: Path) -> Path:
    """Return where a link leads, or the path itself; links in a circle are an OSError."""
    with contextlib.suppress(FileNotFoundError):
        path.stat()
    return Path(os.path.realpath(path))


def _mode(place: Path) -> int:
    """Return the mode of the file that is there; a new one is as public as the user's umask says."""
    if not place.is_file():
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
    if is_read_only(place):
        raise PermissionError(errno.EACCES, "it is read-only")
    return stat.S_IMODE(place.stat().st_mode)


def _beside(path: Path) -> Path:
    place = _led_to(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
    os.close(handle)
    return Path(name)


def _fill(temporary: Path, content: bytes, mode: int) -> None:
    with temporary.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.chmod(mode)


@contextlib.contextmanager
def _told_as_output_error(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        # A file where a folder should be: mkdir calls it "File exists".
        in_the_way = isinstance(error, FileExistsError)
        reason = os.strerror(errno.ENOTDIR) if in_the_way else error.strerror or str(error)
        raise OutputError(
            f"{path}: cannot be written ({reason}); free space or choose another folder with --out"
        ) from error
