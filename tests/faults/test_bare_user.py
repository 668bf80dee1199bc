"""The main job where there is next to nothing: no home, no name, no right to write but into one folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.tool import ROOT, example_claim

if TYPE_CHECKING:
    from collections.abc import Iterator

NOBODY = 65534
NAMELESS = 54321


def by(user: int, *arguments: object, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run Python as another user, with the import path and nothing else in its environment."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        user=user, group=user, extra_groups=(), capture_output=True, text=True, encoding="utf-8",
        check=False, **more,
    )  # fmt: skip


def others_may_run_it() -> bool:
    """Return whether this is the superuser, and others may use the same interpreter."""
    try:
        return by(NOBODY, "-c", "import numpy", env={"PYTHONPATH": os.pathsep.join(sys.path)}).returncode == 0
    except OSError:
        return False


def _open(folder: Path) -> None:
    """Let others into a folder that pytest has made, for its user only."""
    for path in (folder, *folder.parents):
        if path == Path(tempfile.gettempdir()):
            return
        path.chmod(0o755)


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a copy of the tool that nobody may write."""
    folder = tmp_path_factory.mktemp("installation")
    unwritten = shutil.ignore_patterns("__pycache__")
    for name in ("verify", "templates", "data", "reports/reference"):
        shutil.copytree(ROOT / name, folder / name, ignore=unwritten)
    _open(folder)
    paths = [folder, *folder.rglob("*")]
    for path in paths:
        path.chmod(path.stat().st_mode & ~0o222)
    yield folder
    for path in paths:
        path.chmod(path.stat().st_mode | 0o200)


@pytest.mark.slow
@pytest.mark.skipif(not others_may_run_it(), reason="takes the superuser, and an interpreter for all")
@pytest.mark.parametrize("user", [NOBODY, NAMELESS])
def test_a_bare_user_gets_the_whole_report(tmp_path: Path, installation: Path, user: int) -> None:
    """In silence: libraries that find no place for their caches say nothing, and nothing is left behind."""
    _open(tmp_path)
    claim, out, temporary = tmp_path / "mine.py", tmp_path / "out", tmp_path / "tmp"
    claim.write_text(example_claim(), encoding="utf-8")
    for folder in (out, temporary):
        folder.mkdir()
        os.chown(folder, user, user)
    libraries = [path for path in sys.path if path and Path(path).resolve() != ROOT]
    done = by(
        user, "-m", "verify", "report", "doubled-keys", "score-mean", "--claims", claim,
        "--profile", "quick", "--workers", 2, "--out", out, cwd=installation,
        env={"PYTHONPATH": os.pathsep.join([str(installation), *libraries]), "TMPDIR": str(temporary)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in out.iterdir()) == ["report.html", "report.pdf", "results.json"]
    heads = ("doubled-keys: ", "score-mean: ", "2 claims: ", "rendering: ")
    *told, times = done.stderr.splitlines()
    assert all(line.startswith(heads) for line in told)
    assert " s (imports " in times
    assert not list(temporary.iterdir())
