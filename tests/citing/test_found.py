"""Documents that paths name: files, all of a folder, those that fit a pattern."""

from __future__ import annotations

from pathlib import Path

import pytest

from verify.citing.documents import find_documents as documents
from verify.errors import CitationError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of documents, of what is made of them, and of other files."""
    for name in (
        "a.md", "b/c.tex", "b/d.MD", "b/data.csv", "h[1].md",
        "node_modules/e.md", "build/f.md", ".git/g.md", ".hidden.md",
    ):  # fmt: skip
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    (tmp_path / "link.md").symlink_to(tmp_path / "a.md")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(folder: Path, *paths: Path) -> list[str]:
    """Return what is found, from the folder on."""
    return [str(path.relative_to(folder)) for path in documents(paths)]


def test_a_folder_has_its_documents(folder: Path) -> None:
    """Of all depths, in order; nothing that is made, installed, hidden or only a link."""
    assert names(folder, folder) == ["a.md", "b/c.tex", "b/d.MD", "h[1].md"]


def test_each_file_is_there_once(folder: Path) -> None:
    """However many paths name it, in the order of the paths; a file that is given is one, whatever it is."""
    given = (folder / "b" / "data.csv", folder / "a.md", folder / "*.md", folder / "a.md")
    assert names(folder, *given) == ["b/data.csv", "a.md", "h[1].md", "link.md"]
    assert documents([Path("missing.md")]) == [Path("missing.md")]


def test_a_pattern_may_reach_into_folders_and_a_name_is_no_pattern(folder: Path) -> None:
    """Where a file of that very name is there."""
    assert [path.name for path in documents([Path("**/*.tex")])] == ["c.tex"]
    assert names(folder, folder / "h[1].md") == ["h[1].md"]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("*.rst", "no file fits this pattern; correct it"),
        ("empty", "holds no document that can be checked"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_nothing_to_be_found_is_an_error(path: str, message: str) -> None:
    """In one line that begins with the path."""
    Path("empty").mkdir()
    with pytest.raises(CitationError) as caught:
        documents([Path(path)])
    assert str(caught.value).startswith(f"{path}: {message}")
