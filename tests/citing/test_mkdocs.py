"""The plugin for MkDocs in real builds: values linked to the report; an unknown key fails the build."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.report.records import record
from tests.tool import ROOT
from verify.citing.values import by_key

pytest.importorskip("mkdocs", reason="needs the extra [mkdocs]")
pytestmark = pytest.mark.slow

KEY = "score-variance.slope:estimate"
SETTINGS = """site_name: Test
plugins:
  - sdpa-verify:
      results: results.json
      report: {report}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project of MkDocs with a results file."""
    (tmp_path / "docs" / "deep").mkdir(parents=True)
    (tmp_path / "docs" / "index.md").write_text("# Home\n", encoding="utf-8")
    (tmp_path / "results.json").write_text(record().to_json(), encoding="utf-8")
    (tmp_path / "mkdocs.yml").write_text(SETTINGS.format(report="report.html"), encoding="utf-8")
    return tmp_path


def build(project: Path, text: str) -> tuple[int, str, str]:
    """Write a page and build the site; return the status, what is said, and the page."""
    (project / "docs" / "deep" / "page.md").write_text(f"# Page\n\n{text}\n", encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    env = {"PYTHONPATH": str(ROOT), "PATH": ""}
    done = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, check=False)
    page = project / "site" / "deep" / "page" / "index.html"
    return done.returncode, done.stderr, page.read_text(encoding="utf-8") if page.exists() else ""


def test_values_are_shown_and_linked(project: Path) -> None:
    """From a page in a folder, where each page is one; in the form asked for; code stays code."""
    role = f"{{verify}}`{KEY}`"
    status, said, page = build(project, f"Is {role}, {{verify}}`{KEY}|.2g`, `` {role} ``.")
    assert status == 0, said
    value = by_key(record())[KEY]
    assert f'href="../../report.html#{value.anchor}">{value.text}</a>' in page
    assert f">{by_key(record())[f'{KEY}|.2g'].text}</a>" in page
    assert f"<code>{role}</code>" in page


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{verify}`score-variance.slop`", "page.md:3: no value 'score-variance.slop'"),
        (f"{{verify}}`7.25 <{KEY}>`", f"page.md:3: {KEY}: '7.25' has 7.25, which is"),
        (f"It is <!-- verify: {KEY}|default -->7.25<!-- /verify -->.", "printed '7.25', now '1.0003'"),
        (f"It is <!-- verify: {KEY} -->7.25.", "is not closed"),
        ("", "results.json: cannot be read"),
    ],
)
def test_what_is_not_so_fails_the_build(project: Path, text: str, what: str) -> None:
    """With file and line; missing results, before any page is read."""
    if not text:
        (project / "results.json").unlink()
    status, said, _ = build(project, text)
    assert status != 0
    assert what in said
