"""Claim files that misbehave lead to one line and status 2; the main job where there is next to nothing."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import verify
from tests.tool import EXAMPLE, ROOT, Ended, begin, example_claim, finish
from verify.engine.catalogue import catalogue_with
from verify.errors import ClaimError
from verify.executors.workers import Workers

Write = Callable[..., Path]
DERIVE = '    """Derive the variance index by index; rules make every step."""\n'
EXPERIMENT = "    return Experiment(checks, controls)\n"
DRAW = '    """Draw what is measured, and both lines as far as that reaches."""\n'
CLAIM = "\n\nCLAIM = Claim("
MISDEEDS = {
    "exits": ("__import__('sys').exit(0)", "SystemExit: 0"),
    "leaves": ("__import__('os')._exit(0)", "ended its process with status 0 before there was a result"),
    "is-interrupted": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "raises-no-exception": ("raise type('Panic', (BaseException,), {})('why')", "Panic: why"),
    "runs-out-of-memory": ("bytearray(1 << 62)", "MemoryError"),
    "is-killed": (
        "__import__('os').kill(__import__('os').getpid(), 9)",
        "its process was ended by SIGKILL, which the system may do when memory runs out",
    ),
    # Noticed by its silence or, where the process notices first, by its end.
    "closes-all-files": ("__import__('os').closerange(0, 64)", "its process"),
    "recurses": ("(lambda f: f(f))(lambda f: f(f))", "RecursionError: maximum recursion depth exceeded"),
}


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    """Return one process at a time, for all these files."""
    with Workers(1) as one:
        yield one


USUAL = {"exits", "is-killed"}
"""Of each kind one: raised in the process, and its end; its silence is met where a claim is used."""


@pytest.mark.parametrize(
    "misdeed", [one if one in USUAL else pytest.param(one, marks=pytest.mark.slow) for one in MISDEEDS]
)
def test_a_file_that_misbehaves_when_loaded(workers: Workers, tmp_path: Path, misdeed: str) -> None:
    """It is named, and nothing of it reaches this process."""
    code, message = MISDEEDS[misdeed]
    path = tmp_path / "mine.py"
    path.write_text(f"{code}\n__import__('time').sleep(60)\n", encoding="utf-8")
    with pytest.raises(ClaimError, match=rf"^{re.escape(str(path))}:.* {re.escape(message)}") as caught:
        catalogue_with([path], workers)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "misdeed", "change"),
    [
        ("run", "exits", (DERIVE, f"{DERIVE}    %s\n")),
        ("run", "leaves", (EXPERIMENT, f"    %s\n{EXPERIMENT}")),
        ("run", "is-killed", (CLAIM, f"\n\nfacts = lambda derivation: %s{CLAIM}")),
        ("run", "closes-all-files", (DRAW, f"{DRAW}    %s\n")),
        ("show", "is-interrupted", (DERIVE, f"{DERIVE}    %s\n")),
        ("plan", "exits", (EXPERIMENT, f"    %s\n{EXPERIMENT}")),
    ],
)
def test_a_claim_that_misbehaves_when_it_is_used(
    tool: Callable[..., Ended],
    tmp_path: Path,
    claim_file: Write,
    command: str,
    misdeed: str,
    change: tuple[str, str],
) -> None:
    """Deriving, planning, measuring or drawing it: no status but that of bad input, and no results."""
    code, message = MISDEEDS[misdeed]
    path = claim_file((change[0], change[1].replace("%s", code)))
    more = ("--profile", "quick", "--out", tmp_path / "out", "--workers", 1) if command == "run" else ()
    ended = tool(command, "doubled-keys", "--claims", path, *more)
    assert ended.status == 2
    assert ended.complaint.startswith("claim doubled-keys: ")
    assert message in ended.complaint
    assert ended.complaint.endswith(f"correct the claim file {path}")
    assert ended.out == ""
    assert not [*tmp_path.glob("out/*")]


@pytest.mark.slow
def test_claims_that_pickle_cannot_send(claim_file: Write) -> None:
    """Two files with closures and a cached function, and two workers: each process loads its own file."""
    cached = "from functools import cache\n\n@cache\ndef twice(x):\n    return 2 * x\n\n\n"
    cached += "class Text(str):\n    pass\n\n\n"
    change = ("LABEL = ", f"{cached}LABEL = ")
    uses = ("variance_route(2 * score", "variance_route(twice(score)")
    title = ('title="Doubling', 'title=Text("Doubling')
    closed = ('quadruples the variance",', 'quadruples the variance"),')
    one = claim_file(change, uses, title, closed)
    two = claim_file(change, uses, name="doubled_again.py")
    record = verify.run([one, two], profile="quick", workers=2)
    assert [(claim.id, claim.verdict) for claim in record.claims] == [
        ("doubled-again", "confirmed"),
        ("doubled-keys", "confirmed"),
    ]
    assert record.run.claim_files == 2


@pytest.mark.slow
def test_what_a_claim_prints_is_no_result(tmp_path: Path, claim_file: Write) -> None:
    """It goes to standard error; the verdict can be read although standard output is closed."""
    noise = "    import sys\n    print('a word')\n    sys.stdout.close()\n    sys.stdout = None\n"
    path = claim_file((DERIVE, DERIVE + noise))
    options = ("--profile", "quick", "--workers", 1, "--out", tmp_path / "out")
    ended = finish(begin("run", "doubled-keys", "--claims", path, *options))
    assert ended.status == 0
    assert ended.out.startswith("✓ doubled-keys ")
    assert "a word" not in ended.out
    assert ended.err.splitlines()[0] == "a word"


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


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder that others may enter, unlike those that pytest makes."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def installation(folder: Path) -> Iterator[Path]:
    """Return a copy of the tool that is read-only."""
    place = folder / "installation"
    unwritten = shutil.ignore_patterns("__pycache__")
    for name in ("verify", "templates", "data", "reports/reference"):
        shutil.copytree(ROOT / name, place / name, ignore=unwritten)
    paths = [place, *place.rglob("*")]
    for path in paths:
        path.chmod(path.stat().st_mode & ~0o222)
    yield place
    for path in paths:
        path.chmod(path.stat().st_mode | 0o200)


@pytest.mark.slow
@pytest.mark.skipif(not others_may_run_it(), reason="takes the superuser, and an interpreter for all")
@pytest.mark.parametrize("user", [NOBODY, NAMELESS])
def test_a_bare_user_gets_the_whole_report(folder: Path, installation: Path, user: int) -> None:
    """In silence: libraries that find no place for their caches say nothing, and nothing is left behind."""
    claim, out, temporary = folder / EXAMPLE, folder / "out", folder / "tmp"
    claim.write_text(example_claim(), encoding="utf-8")
    for own in (out, temporary):
        own.mkdir()
        os.chown(own, user, user)
    libraries = [path for path in sys.path if path and Path(path).resolve() != ROOT]
    done = by(
        user, "-m", "verify", "report", "doubled-keys", "score-mean", "--claims", claim,
        "--profile", "quick", "--workers", 2, "--out", out, cwd=installation,
        env={"PYTHONPATH": os.pathsep.join([str(installation), *libraries]), "TMPDIR": str(temporary)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in out.iterdir()) == ["report.html", "report.pdf", "results.json"]
    heads = ("doubled-keys: ", "score-mean: ", "2 claims: ", "rendering: ")
    *lines, times = done.stderr.splitlines()
    assert all(line.startswith(heads) for line in lines)
    assert " s (imports " in times
    assert not list(temporary.iterdir())
