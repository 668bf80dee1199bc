"""The outcome of checking a page, which several tests look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.citing.pages import RUN, TEXT
from verify.citing.documents import check
from verify.citing.outcomes import Checked

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checked:
    """Return the outcome of a page with a stale figure, an unknown key, one to fix by hand, and a warning."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a page.md").write_text(TEXT, encoding="utf-8")
    return Checked(check([tmp_path / "docs" / "a page.md"], RUN), "seed 1")
