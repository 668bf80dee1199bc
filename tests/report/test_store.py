"""Drawings are kept between reports: found again, refused when damaged, never in the way."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from verify.report import store
from verify.report.store import Store

if TYPE_CHECKING:
    from pathlib import Path


pytestmark = pytest.mark.usefixtures("cache")


def kept(folder: Path) -> list[Path]:
    """Return the files of a cache."""
    return [path for path in folder.rglob("*") if path.is_file()]


def test_what_was_put_in_is_found_by_its_content() -> None:
    """Another content or another library's version finds nothing."""
    Store("mathjax 4").put("x²", "<svg/>\n")
    assert Store("mathjax 4").get("x²") == "<svg/>\n"
    assert Store("mathjax 4").get("x³") is None
    assert Store("mathjax 5").get("x²") is None


def test_no_drawing_outlives_the_code_that_made_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of this package draws everything again."""
    Store().put("x", "old")
    monkeypatch.setattr(store, "_package_digest", lambda: "changed")
    assert Store().get("x") is None


@pytest.mark.parametrize("content", [b"", b"cut", b"\xff\xfe", b"seal\n<svg/>"])
def test_a_damaged_file_is_drawn_again(cache: Path, content: bytes) -> None:
    """A file cut short by a full disk is no drawing."""
    Store().put("x", "<svg/>")
    (path,) = kept(cache)
    path.write_bytes(content)
    assert Store().get("x") is None


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It keeps nothing."""
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    Store().put("x", "<svg/>")
    Store().tidy()
    assert Store().get("x") is None


def test_what_nobody_asks_for_is_removed(cache: Path) -> None:
    """Asking keeps a drawing for two more months."""
    for name in ("asked", "forgotten"):
        Store().put(name, name)
    for path in kept(cache):
        os.utime(path, (time.time() - 61 * 86_400,) * 2)
    assert Store().get("asked") == "asked"
    Store().tidy()
    assert Store().get("asked") == "asked"
    assert Store().get("forgotten") is None
