"""Caches: with the user where there is a place, or not for long."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from verify.report import caches
from verify.report.caches import usable_caches, user_cache

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

VARIABLES = ("XDG_CACHE_HOME", "MPLCONFIGDIR")


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let a file be in the way of the user's cache, and temporary files go to a folder of their own."""
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.delenv("MPLCONFIGDIR", raising=False)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    return temporary


def test_a_user_with_a_home_has_a_cache_of_the_tool(cache: Path) -> None:
    """The folder is made, below the one that the user's environment names."""
    folder = user_cache()
    assert folder is not None
    assert folder.is_dir()
    assert cache in folder.parents


@pytest.mark.usefixtures("nowhere")
def test_a_place_that_cannot_be_written_is_none() -> None:
    """A file in the way, or a folder that may not be written to."""
    assert user_cache() is None


def test_a_folder_without_permission_is_none(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is there, and yet of no use."""
    asked: dict[Path, int] = {}

    def refused(path: Path, mode: int) -> bool:
        asked[path] = mode
        return False

    monkeypatch.setattr(os, "access", refused)
    assert user_cache() is None
    ((path, mode),) = asked.items()
    assert cache in path.parents
    assert mode == os.W_OK | os.X_OK


@pytest.mark.parametrize("error", [RuntimeError("no home"), OSError("no home")])
def test_a_user_without_a_home_has_none(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the library raises, or returns a path that is relative."""

    def homeless(*_: object, **__: object) -> Path:
        raise error

    monkeypatch.setattr(caches, "user_cache_path", homeless)
    assert user_cache() is None
    monkeypatch.setattr(caches, "user_cache_path", lambda *_, **__: Path("~/.cache"))
    assert user_cache() is None


@pytest.mark.usefixtures("cache")
def test_a_users_own_caches_are_left_alone() -> None:
    """What the environment says stays as it is."""
    before = dict(os.environ)
    with usable_caches():
        assert dict(os.environ) == before


def test_libraries_get_a_folder_for_as_long_as_they_draw(nowhere: Path) -> None:
    """Both variables name it; afterwards it is gone, and they are as they were."""
    before = {name: os.environ.get(name) for name in VARIABLES}
    with usable_caches():
        (folder,) = {os.environ[name] for name in VARIABLES}
        assert Path(folder).is_dir()
        assert nowhere in Path(folder).parents
    assert not Path(folder).exists()
    assert {name: os.environ.get(name) for name in VARIABLES} == before


@pytest.mark.usefixtures("nowhere")
def test_without_any_place_each_library_does_what_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    """No error, and nothing of the environment is changed."""

    def full() -> AbstractContextManager[Iterator[Path]]:
        raise OSError("no space left")

    monkeypatch.setattr(caches, "temporary_folder", full)
    before = dict(os.environ)
    with usable_caches():
        assert dict(os.environ) == before
