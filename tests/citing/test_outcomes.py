"""What a check of documents found, in every form, and the files for CI that ask for them."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.report.records import record
from tests.tool import ROOT, blocks
from verify.citing import outcomes
from verify.citing.documents import Document, check, fix
from verify.citing.outcomes import changes, left
from verify.cli.main import cli


@pytest.fixture
def checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Document]:
    """Return the outcome of a page with a stale figure, an unknown key, one to fix by hand, and a warning."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a page.md").write_text(TEXT, encoding="utf-8")
    return check([tmp_path / "docs" / "a page.md"], RUN)


RUN = record()
KEY = "score-variance.slope:estimate|default"
OWN = "score-variance.slope:estimate"
TEXT = (
    f"It is <!-- verify: {KEY} -->7.25<!-- /verify -->.\n"
    "100%: so <!-- verify: score-variance.nothing -->1<!-- /verify -->\n"
    f"<!-- verify: {OWN} -->7.25 (Fig. 3)<!-- /verify -->"
)


def test_every_form_says_all(checked: list[Document]) -> None:
    """A command of GitHub a line, and in text what can be done."""
    lines = outcomes.FORMS["github"](checked, "seed 1").splitlines()
    assert len(lines) == 4
    assert lines[0].startswith(f"::error file=docs/a page.md,line=1,title=sdpa-verify stale::{KEY}: printed")
    assert all(re.match(r"::(error|notice) [^:]*::", line) for line in lines)
    *_, last = outcomes.FORMS["text"](checked, "seed 1").splitlines()
    assert last.startswith("`sdpa-verify check-docs --write")
    fix(checked)
    assert len(left(checked)) == 2
    assert "1 fixed, 2 stale or wrong" in outcomes.FORMS["text"](checked, "seed 1")


GIT = shutil.which("git")


@pytest.mark.skipif(GIT is None, reason="needs git")
def test_a_diff_does_what_writing_does(checked: list[Document], tmp_path: Path) -> None:
    """As git applies it, in a folder that is no repository, too."""
    patch = changes(checked)
    page = checked[0].path
    assert GIT
    subprocess.run([GIT, "apply", "-"], input=patch, cwd=tmp_path, text=True, check=True, encoding="utf-8")
    applied = page.read_text(encoding="utf-8")
    page.write_text(TEXT, encoding="utf-8")
    fix(checked)
    assert page.read_text(encoding="utf-8") == applied != TEXT


def assert_known(text: str) -> None:
    """Assert that a script calls the tool, by commands and options that it has."""
    calls = re.findall(r"sdpa-verify ([a-z-]+)([^\n]*)", text)
    assert calls
    for command, options in calls:
        known = {name for option in cli.commands[command].params for name in option.opts}
        assert {*re.findall(r"--[a-z-]+", options)} <= known


def test_the_action_of_github_is_complete() -> None:
    """Every input that it uses is declared, none goes into a script unquoted, and its form is one of ours."""
    text = (ROOT / ".github/actions/check-docs/action.yml").read_text("utf-8")
    action: dict[str, Any] = yaml.safe_load(text)
    scripts = [step["run"] for step in action["runs"]["steps"] if "run" in step]
    assert_known(scripts[-1])
    assert not any("${{" in script for script in scripts)
    assert {*re.findall(r"\$\{\{ inputs\.(\w+) \}\}", text)} == set(action["inputs"])
    assert action["inputs"]["format"]["default"] in outcomes.FORMS


def test_the_workflow_of_the_page_is_complete() -> None:
    """Its jobs are YAML, call commands and options that there are, and install the tool from its clone."""
    workflow, site = (yaml.safe_load(text) for text in blocks("yaml", "docs/ci.md"))
    for job in (workflow["jobs"] | site).values():
        scripts = [step["run"] for step in job["steps"] if "run" in step]
        assert_known("\n".join(scripts))
        assert scripts[0] == "pip install ./sdpa-verify"
        assert job["steps"][0]["with"] == {"submodules": True}
