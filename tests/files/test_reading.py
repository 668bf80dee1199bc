"""Inputs are files below a stated size, or refused in one line; shipped files are found."""

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tool import Ended
from verify.errors import CitationError
from verify.evidence import RunRecord
from verify.files import names
from verify.files.names import shipped_folder
from verify.files.reading import InputKind, read_bytes, read_text

SMALL = InputKind(2_000_000, CitationError, "give a page", dash=True)


def odd_files(folder: Path) -> None:
    """Make a folder and a loop of links."""
    (folder / "folder").mkdir()
    (folder / "loop").symlink_to(folder / "loop")


def test_a_file_of_the_largest_size_is_read(tmp_path: Path) -> None:
    """One byte more is not."""
    path = tmp_path / "page"
    path.write_bytes(b"x" * SMALL.at_most)
    assert len(read_bytes(path, SMALL)) == SMALL.at_most
    path.write_bytes(b"x" * (SMALL.at_most + 1))
    with pytest.raises(CitationError, match=r"page: is larger than 2 MB; give a page"):
        read_bytes(path, SMALL)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("none", "No such file or directory"),
        ("folder", "Is a directory"),
        ("loop", "Too many levels of symbolic links"),
        ("/dev/zero", "is larger than 2 MB"),
        ("a\0b", "embedded null byte"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path: Path, name: str, reason: str) -> None:
    """Without reading to its end what has none."""
    odd_files(tmp_path)
    with pytest.raises(CitationError, match=reason):
        read_bytes(tmp_path / name, SMALL)


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dash stands for it where it may; it has a largest size as well, and may be closed."""
    dash = type(tmp_path)("-")
    for content in (b"text", b"x" * (SMALL.at_most + 1)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        if len(content) <= SMALL.at_most:
            assert read_text(dash, SMALL) == "text"
        else:
            with pytest.raises(CitationError, match="larger than 2 MB"):
                read_text(dash, SMALL)
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(CitationError, match="standard input is closed"):
        read_text(dash, SMALL)
    with pytest.raises(CitationError, match="No such file"):
        read_text(dash, SMALL._replace(dash=False))


@pytest.mark.parametrize(
    "command",
    [
        ("values", "--results"),
        ("render",),
        ("list", "--claims"),
        ("run", "score-variance", "--sources"),
        ("cite", "score-variance", "--results"),
        ("export", "--results"),
        ("badge", "score-variance", "--results"),
        ("check-docs",),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("name", ["loop", "none"])
def test_every_input_of_every_command(
    tool: Callable[..., Ended], tmp_path: Path, command: tuple[str, ...], name: str
) -> None:
    """One line and status 2."""
    odd_files(tmp_path)
    ended = tool(*command, tmp_path / name)
    assert ended.status == 2
    assert "cannot be read" in ended.complaint


def test_results_come_through_standard_input(
    tool: Callable[..., Ended], small: RunRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``values --results -``."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(small.to_json().encode())))
    ended = tool("values", "run:seed", "--results", "-")
    assert ended.status == 0
    assert "20170612" in ended.out


NAMES = ("templates", "data", "reference")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a package that has nothing beside it."""
    folder = tmp_path / "site-packages" / "verify"
    folder.mkdir(parents=True)
    monkeypatch.setattr(names, "_PACKAGE", folder)
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_a_wheel_has_them_in_the_package(package: Path, name: str) -> None:
    """Where both are there, the package's own are the ones that belong to it."""
    own = package / f"_{name}"
    own.mkdir()
    for beside in ("templates", "data", "reports/reference"):
        (package.parent / beside).mkdir(parents=True)
    assert shipped_folder(name) == own
    own.rmdir()
    assert shipped_folder(name) == package.parent / ("reports/reference" if name == "reference" else name)
