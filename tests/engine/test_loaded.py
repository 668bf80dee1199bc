"""Whether the tool's code is as it was loaded: an edited, a new and a missing file are noticed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from verify.engine import loaded

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("change", ["edit", "add", "remove"])
def test_a_change_of_the_code_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """Other files play no part."""
    monkeypatch.setattr(loaded, "PACKAGE", tmp_path)
    (tmp_path / "sub").mkdir()
    module = tmp_path / "sub" / "module.py"
    module.write_text("x = 1")
    monkeypatch.setattr(loaded, "_LOADED", loaded._state())
    (tmp_path / "notes.txt").write_text("x")
    assert loaded.is_as_loaded()
    if change == "edit":
        module.write_text("x = 10")
    elif change == "add":
        (tmp_path / "other.py").write_text("")
    else:
        module.unlink()
    assert not loaded.is_as_loaded()


def test_this_process_has_loaded_the_code_that_is_there() -> None:
    """Nobody edits it while tests run."""
    assert loaded.is_as_loaded()
