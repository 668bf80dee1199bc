"""What a project sets in its pyproject.toml, and where its site has what a key names."""

from pathlib import Path

import pytest

from sphobjinv import Inventory

from tests.report.records import PAIRWISE, record
from tests.tool import Tool
from verify.citing.values import by_key
from verify.report.site import inventory
from verify.citing.documents import Configuration, configuration
from verify.errors import SettingsError


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


def test_documents_are_compared_with_the_committed_results(project: Path, tool: Tool) -> None:
    """Stale: 1, with file and line, and a diff. Fixed: 0, all current. From a folder below as well."""
    stale, key = tool("check-docs"), "score-variance.slope:estimate|default"
    assert stale.status == 1
    assert f"docs/page.md:1: {key}: printed '7.25', now '" in stale.out
    assert "docs/page.md: 1 quotation, 1 stale or wrong\ncompared with the results of seed 201" in stale.out
    diff = tool("check-docs", "--diff")
    assert diff.status == 1
    assert diff.out.startswith("--- a/docs/page.md\n+++ b/docs/page.md\n@@ -1 +1 @@\n-It is")
    page = project / "docs" / "page.md"
    assert page.read_text(encoding="utf-8") == PAGE.format("7.25")
    fixed = tool("check-docs", "--write")
    assert (fixed.status, "docs/page.md: 1 quotation, 1 fixed" in fixed.out) == (0, True)
    assert tool("check-docs").out.startswith("docs/page.md: 1 quotation, all current\n")
    nothing = tool("check-docs", "--diff")
    assert (nothing.status, nothing.out) == (0, "")
    assert nothing.err.startswith("docs/page.md: 1 quotation, all current\n")
    page.write_text("Of score-variance, the slope is 1.0003.\n", encoding="utf-8")
    assert (tool("check-docs").status, tool("check-docs", "--strict").status) == (0, 1)


def test_a_quick_run_has_to_be_named(project: Path, tool: Tool) -> None:
    """As the last run it would make right documents stale; named, it is taken."""
    run = record()
    settings = run.run.settings.model_copy(update={"profile": "quick", "tolerance": 0.05})
    changed = run.model_copy(update={"run": run.run.model_copy(update={"settings": settings})}).sealed()
    (project / "reports").mkdir()
    (project / "reports" / "results.json").write_text(changed.to_json(), encoding="utf-8")
    assert "standard" in tool("values", "run:profile").out
    set_up(project, "")
    ended = tool("check-docs", "docs")
    assert ended.status == 2
    assert "reports/results.json: is of a quick run" in ended.complaint
    assert "--results" in ended.complaint
    assert tool("check-docs", "docs", "--results", "reports/results.json").status == 1


def test_mistakes_in_the_settings_are_one_line(project: Path, tool: Tool) -> None:
    """With the file's name."""
    for text, what in (
        ("result = 'x'", "[tool.sdpa-verify] result: Extra inputs are not permitted; correct it"),
        ("results = 3", "results 3: is not a valid path"),
        ("documents = 'docs'", "documents: should be a valid tuple; correct it"),
        ("results = ", "is not TOML"),
    ):
        set_up(project, text)
        ended = tool("check-docs", "docs")
        assert ended.status == 2
        assert ended.complaint.startswith("pyproject.toml: ")
        assert what in ended.complaint


def test_the_settings_of_the_project_above_count(project: Path) -> None:
    """With its folder; without any, there are none."""
    settings = configuration(project / "docs")
    assert (settings.results, settings.documents) == (project / "committed.json", (project / "docs",))
    (project / "pyproject.toml").write_text("[tool]\nsdpa-verify = 3\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"\[tool.sdpa-verify\] .*; correct it"):
        configuration(project)
    (project / "pyproject.toml").write_text("[project]\nname = 'x'\n", encoding="utf-8")
    assert configuration(project) == Configuration()


def test_the_site_is_named_once(project: Path, tool: Tool) -> None:
    """In pyproject.toml; cite takes it from there, and --url stands before it."""
    site, other = "https://example.org/verify", "https://example.org/other"
    set_up(project, f'results = "committed.json"\nsite = "{site}/"\n')
    page = f"{site}/claims/score-variance/"
    assert f"url = {{{page}}}" in tool("cite", "score-variance", "--format", "bibtex").out
    cited = tool("cite", "score-variance", "--format", "bibtex", "--url", other).out
    assert f"url = {{{other}/report.html#score-variance}}" in cited


def test_the_inventory_has_every_place() -> None:
    """Each key of a claim, a finding and a statement once, under a name that says which."""
    run = record()
    made = Inventory(zlib=inventory(run))
    assert (made.project, made.version) == ("sdpa-verify", run.tool.version)
    labels = {label.name: label for label in made.objects}
    keys = {key for key in by_key(run) if ":" not in key and key != "run"}
    assert labels.keys() == {
        f"statement:{key.removeprefix('source.')}" if key.startswith("source.") else f"claim:{key}"
        for key in keys
    }
    assert {(label.domain, label.role) for label in made.objects} == {("std", "label")}
    assert labels[f"claim:{PAIRWISE.id}"].uri == f"claims/{PAIRWISE.id}/index.html"
    key = f"{PAIRWISE.id}.{PAIRWISE.checks[0].id}"
    assert labels[f"claim:{key}"].uri_expanded == f"claims/{PAIRWISE.id}/index.html#{key}"
