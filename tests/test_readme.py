"""README.md and docs/ keep their word: commands, files, and the version that is cited."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import click
import pytest

from tests.tool import ROOT, blocks, page
from verify.citing.documents import check
from verify.citing.languages import LANGUAGES
from verify.cli.main import cli
from verify.evidence.load import shipped
from verify.version import __version__


def test_it_is_short() -> None:
    """What is longer is in docs/ and in the commands' own help."""
    assert len(page().encode()) <= 6500


def test_every_command_is_named() -> None:
    """As it is typed, with or without the tool's name."""
    assert [name for name in cli.commands if not re.search(rf"`(sdpa-verify )?{name}[ `]", page())] == []


def test_every_page_is_linked() -> None:
    """From the README, by a link that leads there."""
    linked = set(re.findall(r"\]\((docs/[\w/.-]+)\)", page()))
    assert linked == {str(one.relative_to(ROOT)) for one in (ROOT / "docs").glob("*.md")}


def test_every_option_is_explained() -> None:
    """``--help`` is where options are documented, so none may be without its words."""
    options = [
        (name, one)
        for name, command in cli.commands.items()
        for one in command.params
        if isinstance(one, click.Option)
    ]
    assert len(options) > 20
    assert [(name, one.opts[0]) for name, one in options if not one.help] == []


def test_every_exit_status_is_in_the_table() -> None:
    """Scripts rely on them."""
    rows = page("docs/ci.md").partition("| exit status |")[2].partition("\n\n")[0].splitlines()[2:]
    statuses = [row.split("|")[1].strip() for row in rows]
    assert statuses == ["0", "1", "2", "3", "4", "129, 130, 143"]


@pytest.mark.parametrize(
    "path", sorted(set(re.findall(r"`((?:(?:data|\.ci)/)?[\w.-]+(?:\.md|\.toml|\.yaml|/run))`", page())))
)
def test_every_file_named_is_there(path: str) -> None:
    """Whoever follows a name must find the file."""
    assert (ROOT / path).is_file()


def test_the_module_for_sphinx_is_there() -> None:
    """A build names it in its ``conf.py``."""
    (module,) = re.findall(r"Sphinx extension `([\w.]+)`", page("docs/quoting.md"))
    assert importlib.util.find_spec(module)


def test_the_set_up_is_the_same_for_the_main_job_and_the_tests() -> None:
    """Two commands, each complete, each of two lines: the system's packages and the environment."""
    first, second = (block.splitlines() for block in blocks("sh"))
    assert first[0] == second[0]
    assert "libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0" in first[0]
    assert first[1].endswith("sdpa-verify report")
    assert second[1].endswith("pytest -n auto")


def test_the_version_is_the_same_everywhere() -> None:
    """The package, the citation file and the example of a citation agree."""
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(rf"^version: {re.escape(__version__)}$", citation, flags=re.MULTILINE)
    assert citation.startswith("cff-version: 1.2.0\n")
    assert f"> sdpa-verify <!-- verify: run:version|default -->{__version__}<!-- /verify -->, claim" in page()
    assert "## [Unreleased]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_every_figure_is_so() -> None:
    """The page quotes the reference run, in the way that it recommends."""
    (document,) = check([ROOT / "README.md"], shipped())
    assert [str(problem) for problem in document.problems] == []
    assert len(document.quotes) == 9


def test_the_marker_that_is_shown_is_so(tmp_path: Path) -> None:
    """Whoever pastes it has a quotation that passes."""
    (shown,) = [block for block in blocks("html") if "verify:" in block]
    pasted = tmp_path / "pasted.md"
    pasted.write_text(shown, encoding="utf-8")
    (document,) = check([pasted], shipped())
    assert [str(problem) for problem in document.problems] == []
    assert len(document.quotes) == 1


def test_the_hook_calls_a_command_that_is_there() -> None:
    """Pre-commit runs it on documents of every kind that it understands."""
    hook = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    (entry,) = re.findall(r"entry: sdpa-verify (\S+)", hook)
    assert entry in cli.commands
    (files,) = re.findall(r"files: (\S+)", hook)
    assert all(
        re.search(files, f"docs/page{kind}") for kind in LANGUAGES.keys() - {".pyi", ".asc", ".svg", ".vue"}
    )
    assert all(re.search(files, name) for name in ("reports/results.json", "audit.json", "pyproject.toml"))
    # What makes documents stale is often the only file of a commit.
    assert "pass_filenames: false" in hook
