"""Writes files whole or not at all: what was there before stays until the new content is complete."""

import contextlib
import errno
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from verify.errors import OutputError

_FULL = frozenset([errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
_OURS = ".sdpa-verify-"  # how the names of files and folders begin that are to be moved to their places


def write_whole(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path`` through a temporary file beside it, then rename.

    Raises:
        OutputError: the folder cannot be made or written, or the disk is full.
    """
    write_together({path: content})


def write_together(files: Mapping[Path, bytes], *, durably: bool = True) -> None:
    """Write several files; none is replaced before all of them lie complete on the disk.

    Without ``durably`` they may be lost, or cut short, where the whole machine stops right then.

    A link stays one: what it leads to is replaced, and keeps its mode. To what is no file of its own, such as
    ``/dev/stdout``, the content is appended.

    Raises:
        OutputError: a folder cannot be made or written, a file is read-only, or the disk is full.
    """
    with contextlib.ExitStack() as stack:
        waiting: dict[Path, Path] = {}
        for path, content in files.items():
            with _as_output_error(path):
                if not _is_device(path):
                    waiting[path] = stack.enter_context(_beside(path, content, durably=durably))
        for path, content in files.items():
            with _as_output_error(path):
                if path in waiting:
                    waiting[path].replace(_led_to(path))
                else:
                    with path.open("ab") as stream:
                        stream.write(content)


def write_folder(folder: Path, files: Mapping[str, bytes], marker: str) -> None:
    """Write a folder of these files, by their paths in it, in the place of one of ours or of an empty one.

    It is made whole beside its place and takes that at once. ``marker`` is a file with the paths of all
    others, by which such a folder is told from others: one that holds anything else stays as it is.

    Raises:
        OutputError: the folder holds what is not ours, cannot be made, or the disk is full.
    """
    content = {**files, marker: "".join(f"{path}\n" for path in sorted(files)).encode()}
    with _as_output_error(folder):
        place = _led_to(folder)
        _refuse_others(folder, place, marker)
        place.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=_OURS, dir=place.parent))
        try:
            for path, text in content.items():
                (made / path).parent.mkdir(parents=True, exist_ok=True)
                (made / path).write_bytes(text)
            made.chmod(stat.S_IMODE(place.stat().st_mode) if place.exists() else _public(0o777))
            _exchange(made, place)
        finally:
            shutil.rmtree(made, ignore_errors=True)


def _refuse_others(folder: Path, place: Path, marker: str) -> None:
    """Raise unless a folder is missing, empty, or has nothing but what its marker lists."""
    if not place.exists():
        return
    if not place.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    found = {
        path.relative_to(place).as_posix()
        for path in place.rglob("*")
        if path.is_symlink() or not path.is_dir()
    }
    known = (place / marker).read_text(encoding="utf-8").splitlines() if (place / marker).is_file() else []
    others = sorted(found - {*known, marker})
    if others or (found and not known):
        named = others[0] if others else marker
        raise OutputError(
            f"{folder}: holds {named!r}, which is not part of what is written there; "
            "remove it, or choose a new folder"
        )


def _exchange(made: Path, place: Path) -> None:
    """Move a folder to its place; what was there stays until it is."""
    if not place.exists():
        made.rename(place)
        return
    before = Path(tempfile.mkdtemp(prefix=_OURS, dir=place.parent))
    place.rename(before)
    try:
        made.rename(place)
    except OSError:
        before.rename(place)
        raise
    shutil.rmtree(before, ignore_errors=True)


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield a new folder for temporary files, which is removed afterwards.

    Raises:
        OSError: there is no place for temporary files.
    """
    with tempfile.TemporaryDirectory(prefix="sdpa-verify-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@contextlib.contextmanager
def environment(**variables: str) -> Iterator[None]:
    """Set environment variables, for child processes and libraries, and put them back afterwards."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def is_read_only(path: Path) -> bool:
    """Return whether the mode lets no one write a file; the superuser could, but is not meant to."""
    return not path.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH)


def check_writable(folder: Path, name: str = "results.json") -> None:
    """Try ``folder`` with an empty file, so that a long run does not end in vain; leave nothing there.

    Raises:
        OutputError: the folder cannot be made or written, or a folder is in the place of the file ``name``.
    """
    path = folder / name
    with _as_output_error(path):
        if _is_device(path):
            return
        made = [one for one in (folder, *folder.parents) if not one.exists()]
        with _beside(path, b"", durably=False):
            pass
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        # Another process may have written there by now.
        with contextlib.suppress(OSError):
            for one in made:
                one.rmdir()


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
        return _public(0o666)
    if is_read_only(place):
        raise PermissionError(errno.EACCES, "it is read-only")
    return stat.S_IMODE(place.stat().st_mode)


def _public(mode: int) -> int:
    """Return what the user's umask leaves of a mode."""
    mask = os.umask(0)
    os.umask(mask)
    return mode & ~mask


@contextlib.contextmanager
def _beside(path: Path, content: bytes, *, durably: bool) -> Iterator[Path]:
    """Yield a temporary file with this content, to be moved to ``path``; left where it is, it is removed."""
    place = _led_to(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    # Its name is known before it is made: so it is removed whenever a signal comes.
    temporary = place.parent / f"{_OURS}{secrets.token_hex(8)}.tmp"
    try:
        with os.fdopen(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as stream:
            stream.write(content)
            stream.flush()
            if durably:
                os.fsync(stream.fileno())
        temporary.chmod(_mode(place))
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def _as_output_error(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        # A file where a folder should be: mkdir calls it "File exists".
        in_the_way = isinstance(error, FileExistsError)
        reason = os.strerror(errno.ENOTDIR) if in_the_way else error.strerror or str(error)
        remedy = "free space or choose" if error.errno in _FULL else "choose"
        raise OutputError(f"{path}: cannot be written ({reason}); {remedy} another place") from error
