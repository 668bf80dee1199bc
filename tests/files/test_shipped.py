"""Files that ship beside the code are found in a checkout and in a wheel alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from verify.files import names
from verify.files.names import shipped_folder

NAMES = ("templates", "data", "reference")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a package that has nothing beside it."""
    folder = tmp_path / "site-packages" / "verify"
    folder.mkdir(parents=True)
    monkeypatch.setattr(names, "_PACKAGE", folder)
    return folder


@pytest.mark.parametrize(
    ("name", "file"), [("templates", "skeleton.j2"), ("data", "sources.toml"), ("reference", "results.json")]
)
def test_a_checkout_has_them_at_the_top_level(name: str, file: str) -> None:
    """Each with what is read from it."""
    assert (shipped_folder(name) / file).is_file()


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


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("package")
def test_a_broken_installation_is_said_to_be_one(name: str) -> None:
    """By the folder that it lacks."""
    with pytest.raises(FileNotFoundError, match=f"the {name} folder is missing from this installation"):
        shipped_folder(name)


def test_a_file_in_its_place_is_no_folder(package: Path) -> None:
    """It is not taken for one."""
    (package / "_data").write_text("")
    with pytest.raises(FileNotFoundError):
        shipped_folder("data")
