"""The README keeps its word: options, modules, files, and the version that is cited."""

from __future__ import annotations

import re
import runpy
from typing import TYPE_CHECKING

import click
import pytest

from tests.tool import ROOT, blocks, readme
from verify.citing.documents import check
from verify.cli.main import cli
from verify.engine.samples import cells_of
from verify.evidence.load import load
from verify.files.shipped import folder
from verify.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def _table(head: str) -> dict[str, str]:
    """Return the table that starts with the heading ``head``: first column, rest of the row."""
    rows = readme().partition(f"| {head} |")[2].partition("\n\n")[0].splitlines()[2:]
    return {row.split("|")[1].strip(): row for row in rows}


def test_every_option_is_in_the_table() -> None:
    """No more and no fewer than the command has, and with its default."""
    table = _table("option of `report` and `run`")
    options = [one for one in cli.commands["report"].params if isinstance(one, click.Option)]
    assert {f"`{one.opts[0]}`" for one in options} == set(table)
    for one in options:
        if one.default is not None and not one.multiple and "UNSET" not in repr(one.default):
            assert str(one.default) in table[f"`{one.opts[0]}`"]


def test_every_command_is_in_the_table() -> None:
    """Each command has its row."""
    text = " ".join(_table("command"))
    assert all(f"`{name}" in text for name in cli.commands)


def test_every_exit_status_is_in_the_table() -> None:
    """Scripts rely on them."""
    assert set(_table("exit status")) == {"0", "1", "2", "3", "4", "129, 130, 143"}


@pytest.mark.parametrize(
    "path", sorted(set(re.findall(r"`((?:verify|templates|data|\.ci)/[\w./]*)`", readme())))
)
def test_every_file_named_is_there(path: str) -> None:
    """A walk-through that follows the data must not lead into nothing."""
    assert (ROOT / path).exists()


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
    assert f"> sdpa-verify <!-- verify: run:version -->{__version__}<!-- /verify -->, claim" in readme()
    assert "## [Unreleased]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_every_figure_is_so() -> None:
    """The page quotes the reference run, in the way that it recommends."""
    (document,) = check([ROOT / "README.md"], load(folder("reference") / "results.json"))
    assert [str(problem) for problem in document.problems] == []
    assert len(document.quotes) > 25


def test_the_hook_calls_a_command_that_is_there() -> None:
    """Pre-commit runs it on documents of every kind that it understands."""
    hook = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    (entry,) = re.findall(r"entry: sdpa-verify (\S+)", hook)
    assert entry in cli.commands
    (files,) = re.findall(r"files: (\S+)", hook)
    assert all(re.search(files, f"docs/page.{kind}") for kind in ("md", "html", "rst", "tex"))


def test_the_example_records_the_factor_of_its_scores(claim_file: Callable[..., Path]) -> None:
    """What is drawn follows from the claim's objects, so a reader of its record can draw it again."""
    claim = runpy.run_path(str(claim_file()))["CLAIM"]
    cells = cells_of(claim.experiment(claim.derive(), 0.05).checks)
    assert [dict(cell.settings)["scale"] for cell in cells] == [2, 2, 2]
