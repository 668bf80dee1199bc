"""Writing files: whole or not at all, whatever goes wrong in between."""

import errno
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from verify.errors import OutputError
from verify.files import check_writable, write_folder, write_together, write_whole

OLD, NEW = b"old content", b"new content"


def tree(folder: Path) -> dict[str, bytes]:
    """Return all files under a folder by their paths, hidden ones too."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def full_disk(*_: Any, **__: Any) -> None:
    """Fail as a full disk does."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def interrupt(*_: Any, **__: Any) -> None:
    """Fail as Ctrl-C does."""
    raise KeyboardInterrupt


@pytest.mark.parametrize("failure", [full_disk, interrupt])
@pytest.mark.parametrize("failing", ["first", "second", "third", "rename"])
def test_a_failure_leaves_the_old_files_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str, failure: Any
) -> None:
    """Disk full or interrupted, at one of three files or just before they are renamed: no litter."""
    write_together({tmp_path / name: OLD for name in ("first", "second", "third")})
    names, right = iter(("first", "second", "third")), os.fsync

    def fsync(handle: int) -> None:
        if next(names) == failing:
            failure()
        right(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    if failing == "rename":
        monkeypatch.setattr(Path, "replace", failure)
    with pytest.raises(OutputError if failure is full_disk else KeyboardInterrupt):
        write_together({tmp_path / name: NEW for name in ("first", "second", "third")})
    assert tree(tmp_path) == dict.fromkeys(("first", "second", "third"), OLD)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """A file in the place of the folder is reported as an output error, and is not touched."""
    for write in (lambda path: write_whole(path, NEW), check_writable):
        (tmp_path / "out").write_bytes(OLD)
        with pytest.raises(
            OutputError, match=r"out.*: cannot be written \((File exists|Not a directory)\); choose"
        ):
            write(tmp_path / "out" / "x.json")
        assert tree(tmp_path) == {"out": OLD}


def test_checking_a_folder_leaves_nothing(tmp_path: Path) -> None:
    """A folder that is not there is tried too, and is not there afterwards either."""
    check_writable(tmp_path / "reports" / "today" / "results.json", tmp_path / "other.json")
    assert list(tmp_path.iterdir()) == []
    write_whole(tmp_path / "results.json", OLD)
    check_writable(tmp_path / "results.json")
    assert (tmp_path / "results.json").read_bytes() == OLD


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """Its goal is replaced, be it there or not; links in a circle lead nowhere, and stay."""
    (tmp_path / "goal").write_bytes(OLD)
    for goal in ("goal", "new"):
        link = tmp_path / f"to-{goal}"
        link.symlink_to(goal)
        write_whole(link, NEW)
        assert link.is_symlink()
        assert (tmp_path / goal).read_bytes() == NEW
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OutputError, match=r"a: cannot be written \(Too many levels"):
        write_whole(tmp_path / "a", NEW)
    assert (tmp_path / "a").is_symlink()


def test_a_file_keeps_its_mode(tmp_path: Path) -> None:
    """A new file is as readable as the umask says, not private; what is read-only stays."""
    path = tmp_path / "results.json"
    before = os.umask(0o027)
    try:
        write_whole(path, OLD)
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o600)
    write_whole(path, NEW)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o444)
    with pytest.raises(OutputError, match="it is read-only"):
        write_whole(path, OLD)
    assert path.read_bytes() == NEW


def test_what_is_no_file_of_its_own_is_appended_to(tmp_path: Path) -> None:
    """Standard output that goes to a log leaves the log what it holds."""
    log = tmp_path / "log"
    log.write_text("before\n")
    code = (
        "from pathlib import Path; from verify.files import write_whole; "
        "write_whole(Path('/dev/stdout'), b'ours\\n')"
    )
    with log.open("a") as stream:
        subprocess.run([sys.executable, "-c", code], stdout=stream, check=True)
    assert log.read_text() == "before\nours\n"
    assert Path("/dev/stdout").is_symlink()


MEMORY = Path("/dev", "shm")


@pytest.mark.skipif(not MEMORY.is_dir(), reason="there is no memory in place of a disk")
def test_a_file_in_memory_is_replaced_as_any_other() -> None:
    """Though it lies under /dev: a second run's results do not follow the first's."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        for content in (OLD, NEW):
            write_whole(Path(folder) / "results.json", content)
        assert tree(Path(folder)) == {"results.json": NEW}


FILES = {"index.html": b"new", "a/b.txt": b"b"}


def test_a_folder_is_written_and_lists_its_files(tmp_path: Path) -> None:
    """What was written there before and is no more goes; what is somebody else's stays."""
    out = tmp_path / "made" / "out"
    for files in (FILES, {"other": b"o"}, FILES):
        write_folder(out, files, ".marker")
        assert tree(out) == files | {".marker": "".join(f"{path}\n" for path in sorted(files)).encode()}
        assert [path.name for path in out.parent.iterdir()] == ["out"]
    (out / "mine").write_bytes(OLD)
    write_folder(out, {"index.html": NEW}, ".marker")
    assert tree(out) == {"index.html": NEW, "mine": OLD, ".marker": b"index.html\n"}
    # A folder of somebody else's has taken the place of one of ours.
    write_folder(out, FILES, ".marker")
    (out / "index.html").unlink()
    (out / "index.html").mkdir()
    (out / "index.html" / "mine").write_bytes(OLD)
    write_folder(out, {"other": NEW}, ".marker")
    assert tree(out) == {"index.html/mine": OLD, "mine": OLD, "other": NEW, ".marker": b"other\n"}


def test_what_cannot_be_written_leaves_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else's file, a file in the place of the folder, a full disk: all files are as they were."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "index.html").write_bytes(OLD)
    with pytest.raises(OutputError, match=r"out: holds 'index\.html', which is not what was written there"):
        write_folder(out, FILES, ".marker")
    with pytest.raises(OutputError, match=r"index\.html.*: cannot be written \(Not a directory\)"):
        write_folder(out / "index.html", FILES, ".marker")
    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OutputError, match=r"cannot be written .*; free space"):
        write_folder(out, {"new": NEW}, ".marker")
    assert tree(out) == {"index.html": OLD}
