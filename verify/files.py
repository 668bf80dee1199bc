"""Files: what is given is read up to a stated size, what is made is written whole or not at all.

Also what the files of a record are called, and where those are that ship beside the code.
"""

import contextlib
import errno
import os
import secrets
import stat
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from verify.errors import OutputError, VerifyError

MEGABYTE = 1_000_000
_FULL = frozenset([errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
_PACKAGE = Path(__file__).resolve().parent
_IN_CHECKOUT = {"reference": "reports/reference"}


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
    from_standard_input = kind.dash and path == Path("-")
    if from_standard_input and sys.stdin is None:
        raise kind.error(f"{path}: cannot be read (standard input is closed); {kind.wanted}")
    limit = kind.at_most + 1
    try:
        content = sys.stdin.buffer.read(limit) if from_standard_input else head(path, limit)
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


def write_whole(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path`` through a temporary file beside it, then rename.

    Raises:
        OutputError: the folder cannot be made or written, or the disk is full.
    """
    write_together({path: content})


def write_together(files: Mapping[Path, bytes], *, durably: bool = True) -> None:
    """Write several files; none is replaced before all of them lie complete on the disk.

    Without ``durably`` they may be lost, or cut short, where the whole machine stops right then.

    A link stays a link: its target is replaced, and keeps its mode. To what is no regular file, such as
    ``/dev/stdout``, the content is appended.

    Raises:
        OutputError: a folder cannot be made or written, a file is read-only, or the disk is full.
    """
    with contextlib.ExitStack() as stack:
        waiting: dict[Path, tuple[Path, Path]] = {}
        for path, content in files.items():
            with _as_output_error(path):
                if not _is_device(path):
                    waiting[path] = stack.enter_context(_beside(path, content, durably=durably))
        for path, content in files.items():
            with _as_output_error(path):
                if path in waiting:
                    temporary, place = waiting[path]
                    temporary.replace(place)
                else:
                    with path.open("ab") as stream:
                        stream.write(content)


def write_folder(folder: Path, files: Mapping[str, bytes], marker: str) -> None:
    """Write files to a folder, by their paths in it, and remove what this wrote there before and is no more.

    ``marker`` is a file with the paths of all others, which separates ours from what else is there.

    Raises:
        OutputError: somebody else's file is in the place of one of ours, a folder cannot be made, or the disk
            is full.
    """
    with _as_output_error(folder):
        listed = folder / marker
        known = listed.read_text(encoding="utf-8").splitlines() if listed.is_file() else []
    for path in sorted(files.keys() - set(known)):
        if (folder / path).exists():
            raise OutputError(
                f"{folder}: holds {path!r}, which is not what was written there; remove it, or choose another"
            )
    listing = "".join(f"{path}\n" for path in sorted(files)).encode()
    write_together({folder / path: content for path, content in (*files.items(), (marker, listing))})
    for path in set(known) - files.keys():
        gone = (folder / path).resolve()
        # A listing from elsewhere leads to nothing outside.
        if gone.is_relative_to(folder.resolve()):
            # What is a folder now, or cannot be removed, is no longer ours.
            with contextlib.suppress(OSError):
                gone.unlink(missing_ok=True)
                gone.parent.rmdir()


@contextlib.contextmanager
def environment(**variables: str) -> Iterator[None]:
    """Set environment variables, for child processes and libraries, and put them back afterwards."""
    before = {name: os.environ[name] for name in variables if name in os.environ}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            os.environ.pop(name, None)
        os.environ.update(before)


def check_writable(*paths: Path) -> None:
    """Try the folders of files with an empty file, so that a long run does not end in vain; leave nothing.

    Raises:
        OutputError: a folder cannot be made or written, or a folder is in the place of a file.
    """
    for path in paths:
        with _as_output_error(path):
            if _is_device(path):
                continue
            made = [parent for parent in path.parents if not parent.exists()]
            with _beside(path, b"", durably=False):
                pass
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            # Another process may have written there by now.
            with contextlib.suppress(OSError):
                for parent in made:
                    parent.rmdir()


def _is_device(path: Path) -> bool:
    # Where standard output goes to a file, /dev/stdout leads to that file, which holds more than ours. What
    # lies in folders of /dev, such as /dev/shm, is an ordinary file.
    folder = Path(os.path.realpath(path.parent))
    borrowed = folder == Path("/dev") or folder.is_relative_to("/proc")
    return path.exists() and not path.is_dir() and (borrowed or not path.is_file())


@contextlib.contextmanager
def _beside(path: Path, content: bytes, *, durably: bool) -> Iterator[tuple[Path, Path]]:
    """Yield a temporary file with this content, removed at the end if it is still there, and its goal."""
    # Links in a circle are an OSError; what is not there yet is none.
    with contextlib.suppress(FileNotFoundError):
        path.stat()
    place = Path(os.path.realpath(path))
    place.parent.mkdir(parents=True, exist_ok=True)
    # Its name is known before it is made: so it is removed whenever a signal comes.
    temporary = place.parent / f".sdpa-verify-{secrets.token_hex(8)}.tmp"
    try:
        with os.fdopen(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as stream:
            stream.write(content)
            stream.flush()
            if durably:
                os.fsync(stream.fileno())
        if place.is_file():
            mode = stat.S_IMODE(place.stat().st_mode)
            # The superuser could write what nobody may, but is not meant to.
            if not mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
                raise PermissionError(errno.EACCES, "it is read-only")
        else:
            # A new file is as public as the user's umask says, which can be read by setting it alone.
            mask = os.umask(0)
            os.umask(mask)
            mode = 0o666 & ~mask
        temporary.chmod(mode)
        yield temporary, place
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


def shipped_folder(name: str) -> Path:
    """Return the folder of shipped files called ``name``: ``"templates"``, ``"data"`` or ``"reference"``.

    A wheel carries them as ``verify/_templates`` and the like; a checkout and an editable install have them
    at the top level, beside the package, the reference among the reports.

    Raises:
        FileNotFoundError: the installation is broken and has neither.
    """
    for place in (_PACKAGE / f"_{name}", _PACKAGE.parent / _IN_CHECKOUT.get(name, name)):
        if place.is_dir():
            return place
    raise FileNotFoundError(f"the {name} folder is missing from this installation of sdpa-verify")


@cache
def shipped_table(name: str) -> Mapping[str, Any]:
    """Return a table that ships among the data, such as ``"theorems"`` or ``"references"``."""
    return tomllib.loads((shipped_folder("data") / f"{name}.toml").read_text(encoding="utf-8"))


EDITIONS = ("report", "brief", "full")
"""Of at most fourteen pages, the usual edition; of one to three; with all of the evidence."""


class Names(NamedTuple):
    """The names of a record's file and of its pages; ``stem`` is that of their templates as well."""

    evidence: str
    stem: str

    @property
    def page(self) -> str:
        """The page for the screen."""
        return f"{self.stem}.html"

    def sheet(self, edition: str = EDITIONS[0]) -> str:
        """Return what the document for print is called in an edition; citations refer to the usual one."""
        return f"{self.stem}.pdf" if edition == EDITIONS[0] else f"{self.stem}-{edition}.pdf"


RUN, AUDIT = Names("results.json", "report"), Names("audit.json", "audit")
"""An audit has a page alone."""
COMPARISON = "comparison.json"
"""The record of two recordings that were compared; it has no page."""
