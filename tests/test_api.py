"""The tool as a library: the names it promises, and that they do what the command line does."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import verify
from tests.tool import ROOT, blocks
from verify.errors import ClaimError, SettingsError, SourcesError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from verify.evidence import RunRecord


def test_the_public_names_are_there() -> None:
    """Every promised name can be had, and no other."""
    assert all(getattr(verify, name) is not None for name in verify.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'runn'"):
        verify.runn  # noqa: B018 - asking is the test


def test_importing_the_package_is_cheap() -> None:
    """Libraries are imported when a name that needs them is first asked for."""
    code = "import sys, verify; print({'numpy', 'sympy', 'pydantic'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_run_can_be_rendered_and_read_again(tmp_path: Path) -> None:
    """run, render, load: what comes back is what was written."""
    record = verify.run(["worked-dot-products"], profile="quick", workers=1)
    phases: list[str] = []
    from verify import api  # noqa: PLC0415 - with its announcements

    written = api.render(record, tmp_path, phases.append)
    assert written.problem is None
    assert phases == list(written.phases_s)
    assert verify.load(tmp_path / "results.json") == record


def test_claims_can_be_listed(claim_file: Callable[..., Path]) -> None:
    """By id, in the order of the report, the user's own last."""
    claims = verify.list_claims()
    assert next(iter(claims)) == "score-mean"
    assert claims["score-mean"].title == "Scores average to zero"
    assert list(verify.list_claims([claim_file()]))[:-1] == list(claims)


def test_misuse_is_an_exception_of_one_family() -> None:
    """Whoever calls the library catches ``VerifyError``."""
    wrong: tuple[tuple[dict[str, Any], type[Exception]], ...] = (
        ({"claims": ["nothing"]}, ClaimError),
        ({"seed": -1}, SettingsError),
        ({"workers": 0}, SettingsError),
        ({"sources": ROOT / "no" / "such.toml"}, SourcesError),
    )
    for arguments, kind in wrong:
        with pytest.raises(kind) as raised:
            verify.run(**arguments)
        assert isinstance(raised.value, verify.VerifyError)
        assert "\n" not in str(raised.value)


def test_the_library_and_the_command_line_agree(quick: RunRecord) -> None:
    """The defaults are the same, and with them the results."""
    (alone,) = verify.run(["over-scaling"], profile="quick").claims
    assert alone.digest in {claim.digest for claim in quick.claims}


def test_the_example_of_the_readme_runs(tmp_path: Path) -> None:
    """What the README shows is what the library does."""
    (example,) = [block for block in blocks("python") if "verify.run(" in block]
    done = subprocess.run(
        [sys.executable, "-c", example.replace('profile="standard"', 'profile="quick"')],
        cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "score-variance confirmed" in done.stdout


@pytest.mark.parametrize(
    ("misuse", "message"),
    [
        ({"claims": "score-mean"}, r"claims 'score-mean': give a list, such as \['score-mean'\]"),
        ({"claims": None}, "claims None: give a list"),
        ({"claims": [1]}, "claims 1: give text"),
        ({"claim_files": "mine.py"}, "claim files 'mine.py': give a list"),
        ({"sources": "none.toml"}, r"none\.toml"),
        ({"seed": "1"}, "seed '1': give a whole number"),
        ({"seed": 1.5}, r"seed 1\.5: give a whole number"),
        ({"seed": True}, "seed True: give a whole number"),
        ({"tolerance": "x"}, "tolerance 'x': give a number"),
        ({"profile": 3}, "no profile 3"),
        ({"workers": 1.5}, r"workers 1\.5: give a whole number"),
        ({"progress": 3}, "progress 3: give"),
    ],
)
def test_misuse_is_one_line(misuse: dict[str, Any], message: str) -> None:
    """Whatever is given in the place of something else, the error says what is wanted."""
    with pytest.raises(verify.VerifyError, match=message) as caught:
        verify.run(**{"claims": ["score-mean"], "profile": "quick", **misuse})
    assert "\n" not in str(caught.value)


def test_what_is_no_record_cannot_be_rendered(tmp_path: Path) -> None:
    """Nor can what is no path be loaded."""
    with pytest.raises(verify.VerifyError, match="NoneType: is no record of a run"):
        verify.render(None, tmp_path)  # type: ignore[arg-type]  # that is the point
    with pytest.raises(verify.VerifyError, match="None: is not a path"):
        verify.load(None)  # type: ignore[arg-type]  # that is the point
