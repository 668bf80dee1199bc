"""The whole report on a bare system: a read-only installation, no home, a user without a name."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.tool import EXAMPLE, ROOT, example_claim

NAMELESS = 54321


def by(user: int, *arguments: object, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run Python as another user, with the import path and nothing else in its environment."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        user=user,
        group=user,
        extra_groups=(),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        **more,
    )


def others_may_run_it() -> bool:
    """Return whether this is the superuser, and others may use the same interpreter."""
    try:
        return (
            by(NAMELESS, "-c", "import numpy", env={"PYTHONPATH": os.pathsep.join(sys.path)}).returncode == 0
        )
    except OSError:
        return False


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder that others may enter, unlike those of pytest, with a read-only copy of the tool."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("verify", "templates", "data", "reports/reference"):
            unwritten = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / part, folder / "installation" / part, ignore=unwritten)
        paths = [folder / "installation", *folder.glob("installation/**/*")]
        for path in paths:
            path.chmod(path.stat().st_mode & ~0o222)
        folder.chmod(0o755)
        yield folder
        for path in paths:
            path.chmod(path.stat().st_mode | 0o200)


@pytest.mark.slow
@pytest.mark.skipif(not others_may_run_it(), reason="takes the superuser, and an interpreter for all")
def test_a_bare_user_gets_the_whole_report(folder: Path) -> None:
    """In silence: libraries that find no place for their caches say nothing, and nothing is left behind."""
    claim, out, temporary, installation = (folder / name for name in (EXAMPLE, "out", "tmp", "installation"))
    claim.write_text(example_claim(), encoding="utf-8")
    for own in (out, temporary):
        own.mkdir()
        os.chown(own, NAMELESS, NAMELESS)
    libraries = [path for path in sys.path if path and Path(path).resolve() != ROOT]
    options = ("--claims", claim, "--profile", "quick", "--workers", 2, "--out", out)
    environment = {"PYTHONPATH": os.pathsep.join([str(installation), *libraries]), "TMPDIR": str(temporary)}
    command = ("-m", "verify", "report", "doubled-keys", "score-mean", *options)
    done = by(NAMELESS, *command, cwd=installation, env=environment)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in out.iterdir()) == ["report.html", "report.pdf", "results.json"]
    heads = ("doubled-keys: ", "score-mean: ", "2 claims: ", "rendering: ")
    *lines, times = done.stderr.splitlines()
    assert all(line.startswith(heads) for line in lines)
    assert " s (imports " in times
    assert not list(temporary.iterdir())
