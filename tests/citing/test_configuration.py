"""What a project sets in its pyproject.toml, and which documents paths name."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.report.records import record
from tests.tool import Ended
from verify.citing.configuration import Configuration, configuration
from verify.errors import SettingsError

Tool = Callable[..., Ended]

PAGE = "It is <!-- verify: score-variance.slope:estimate|default -->{}<!-- /verify -->.\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project with committed results, a page and a setting for both, which is the present folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text(PAGE.format("7.25"), encoding="utf-8")
    (tmp_path / "committed.json").write_text(record().to_json(), encoding="utf-8")
    set_up(tmp_path, 'results = "committed.json"\ndocuments = ["docs"]\n')
    return tmp_path


def set_up(folder: Path, text: str) -> None:
    """Write the project's settings."""
    (folder / "pyproject.toml").write_text(f"[tool.sdpa-verify]\n{text}", encoding="utf-8")


def quick(folder: Path) -> None:
    """Leave a quick run in the folder where runs go."""
    run = record()
    settings = run.run.settings.model_copy(update={"profile": "quick", "tolerance": 0.05})
    changed = run.model_copy(update={"run": run.run.model_copy(update={"settings": settings})}).sealed()
    (folder / "reports").mkdir(exist_ok=True)
    (folder / "reports" / "results.json").write_text(changed.to_json(), encoding="utf-8")


def test_documents_are_held_against_the_committed_results(project: Path, tool: Tool) -> None:
    """However many quick runs there were since; from a folder below as well."""
    quick(project)
    ended = tool("check-docs")
    assert ended.status == 1
    assert "page.md:1: score-variance.slope:estimate|default: printed '7.25'" in ended.out
    assert "standard profile" in ended.out
    assert tool("check-docs", "--write").status == 0
    assert tool("check-docs").status == 0
    assert "standard" in tool("values", "run:profile").out


def test_a_quick_run_that_was_not_named_is_refused(project: Path, tool: Tool) -> None:
    """It would make right documents stale; named, it is taken."""
    set_up(project, "")
    quick(project)
    ended = tool("check-docs", "docs")
    assert ended.status == 2
    assert "reports/results.json: is of a quick run" in ended.complaint
    assert "--results" in ended.complaint
    assert tool("check-docs", "docs", "--results", "reports/results.json").status == 1


def test_a_diff_is_printed_and_nothing_written(project: Path, tool: Tool) -> None:
    """With status 1 as long as anything is to be changed."""
    ended = tool("check-docs", "--diff")
    assert ended.status == 1
    assert ended.out.startswith("--- a/docs/page.md\n+++ b/docs/page.md\n@@ -1 +1 @@\n-It is")
    assert (project / "docs" / "page.md").read_text(encoding="utf-8") == PAGE.format("7.25")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("result = 'x'", "no setting 'result'; did you mean 'results'?"),
        ("results = 3", "results: Input should be a valid string; correct it"),
        ("documents = 'docs'", "documents: Input should be a valid tuple; correct it"),
        ("results = ", "is not TOML"),
    ],
)
def test_mistakes_in_the_settings_are_one_line(project: Path, tool: Tool, text: str, what: str) -> None:
    """With the file's name."""
    set_up(project, text)
    ended = tool("check-docs", "docs")
    assert ended.status == 2
    assert ended.complaint.startswith("pyproject.toml: ")
    assert what in ended.complaint


def test_the_settings_of_the_project_above_count(project: Path) -> None:
    """With its folder; without any, there are none."""
    settings = configuration(project / "docs")
    assert settings.results_file == project / "committed.json"
    assert settings.documents == ("docs",)
    (project / "pyproject.toml").write_text("[tool]\nsdpa-verify = 3\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"\[tool.sdpa-verify\] .*; correct it"):
        configuration(project)
    (project / "pyproject.toml").write_text("[project]\nname = 'x'\n", encoding="utf-8")
    assert configuration(project) == Configuration(folder=project)
