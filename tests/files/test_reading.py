"""Inputs are files below a stated size, or refused in one line; shipped files are found."""

import io
import sys
from pathlib import Path

import pytest

from tests.tool import Tool
from verify.errors import CitationError
from verify.evidence import RunRecord
from verify import files
from verify.files import InputKind, read_bytes, read_text, shipped_folder

SMALL = InputKind(2_000_000, CitationError, "give a page", dash=True)


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """Without reading to its end what has none; a file of the largest size is read."""
    (tmp_path / "largest").write_bytes(b"x" * SMALL.at_most)
    (tmp_path / "larger").write_bytes(b"x" * (SMALL.at_most + 1))
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert len(read_bytes(tmp_path / "largest", SMALL)) == SMALL.at_most
    for name, reason in (
        ("larger", "larger: is larger than 2 MB; give a page"),
        ("none", "No such file or directory"),
        ("folder", "Is a directory"),
        ("loop", "Too many levels of symbolic links"),
        ("/dev/zero", "is larger than 2 MB"),
        ("a\0b", "embedded null byte"),
    ):
        with pytest.raises(CitationError, match=reason):
            read_bytes(tmp_path / name, SMALL)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dash stands for it where it may; it has a largest size as well, and may be closed."""
    dash = Path("-")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"text")))
    assert read_text(dash, SMALL) == "text"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x" * (SMALL.at_most + 1))))
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
        ("show", "mine", "--claims"),
        ("run", "score-variance", "--sources"),
        ("cite", "score-variance", "--results"),
        ("export", "--results"),
        ("badge", "score-variance", "--results"),
        ("check-docs",),
    ],
    ids=" ".join,
)
def test_every_input_of_every_command(tool: Tool, tmp_path: Path, command: tuple[str, ...]) -> None:
    """One line and status 2, also where a path cannot even be resolved."""
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    ended = tool(*command, tmp_path / "loop")
    assert ended.status == 2
    assert "cannot be read" in ended.complaint


def test_results_come_through_standard_input(
    tool: Tool, small: RunRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``values --results -``."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(small.to_json().encode())))
    ended = tool("values", "run:seed", "--results", "-")
    assert (ended.status, "20170612" in ended.out) == (0, True)


def test_a_wheel_has_them_in_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where both are there, the package's own are the ones that belong to it."""
    package = tmp_path / "site-packages" / "verify"
    monkeypatch.setattr(files, "_PACKAGE", package)
    for name in ("templates", "data", "reference"):
        own = package / f"_{name}"
        beside = package.parent / ("reports/reference" if name == "reference" else name)
        for folder in (own, beside):
            folder.mkdir(parents=True)
        assert shipped_folder(name) == own
        own.rmdir()
        assert shipped_folder(name) == beside
