"""What a check of documents found."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

from tests.citing.pages import TEXT
from verify.citing.documents import fix
from verify.citing.outcomes import Checked, address, changes

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


GIT = str(shutil.which("git"))


def test_a_diff_does_what_writing_does(checked: Checked, tmp_path: Path) -> None:
    """As git applies it, in a folder that is no repository, too."""
    patch = changes(checked.documents)
    page = checked.documents[0].path
    subprocess.run([GIT, "apply", "-"], input=patch, cwd=tmp_path, text=True, check=True, encoding="utf-8")
    applied = page.read_text(encoding="utf-8")
    page.write_text(TEXT, encoding="utf-8")
    fix(checked.documents)
    assert page.read_text(encoding="utf-8") == applied != TEXT


def test_addresses_are_short_and_portable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the present folder where the file is in it."""
    monkeypatch.chdir(tmp_path)
    assert address(tmp_path / "docs" / "page.md") == "docs/page.md"
    assert address(tmp_path.parent / "page.md") == str(tmp_path.parent / "page.md")
