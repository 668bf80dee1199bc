"""The citing commands as people call them, with their mistakes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.report.records import record
from verify import cli_citing
from verify.report.citation import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.tool import Ended

    Tool = Callable[..., Ended]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Return a results file with a claim of every outcome."""
    path = tmp_path / "results.json"
    path.write_text(record().to_json(), encoding="utf-8")
    return path


def test_values_of_everything_or_of_one(tool: Tool, results: Path) -> None:
    """Key and text, in columns."""
    every = tool("values", "--results", results)
    one = tool("values", "score-variance", "run", "--results", results)
    assert every.status == one.status == 0
    keys = {line.split()[0] for line in every.out.splitlines()}
    assert {line.split()[0] for line in one.out.splitlines()} < keys
    assert all(line.startswith(("score-variance", "run:")) for line in one.out.splitlines())
    assert len(every.out.splitlines()) > len(one.out.splitlines()) > 20


@pytest.mark.parametrize("form", cli_citing.FORMATS)
def test_every_format_is_printed(tool: Tool, results: Path, form: str) -> None:
    """A part of a key is left out: a citation holds them all."""
    ended = tool("cite", "score-variance.slope:interval", "--format", form, "--results", results)
    assert ended.status == 0
    assert "score-variance" in ended.out
    assert "slope" in ended.out


def test_the_formats_are_those_there_are() -> None:
    """The command's help names all of them without loading them."""
    assert tuple(FORMATS) == cli_citing.FORMATS


def test_without_results_the_last_run_counts_then_the_reference(
    tool: Tool, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder with a report its results are quoted, elsewhere those that come with the tool."""
    monkeypatch.chdir(tmp_path)
    reference = tool("values", "run").out
    assert "run:checks                 455" in reference
    (tmp_path / "reports").mkdir()
    results.rename(tmp_path / "reports" / "results.json")
    assert tool("values", "run").out != reference


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (
            ("cite", "score-varianc"),
            "no value 'score-varianc' in these results; did you mean 'score-variance",
        ),
        (("cite", "score-variance", "--format", "docx"), "no format 'docx'; choose text, markdown"),
        (("cite", "run:claims"), "'run:claims' is no claim"),
        (("values", "nothing-like-it"), "no value 'nothing-like-it' in these results"),
        (("badge", "score-variance.slope"), "'score-variance.slope' is no claim"),
        (("export", "--format", "word"), "no format 'word' to export; choose latex"),
        (("check-docs",), "Missing argument 'FILE...'"),
        (("check-docs", "nowhere.md"), "nowhere.md: cannot be read"),
    ],
)
def test_mistakes_are_told_in_one_line(
    tool: Tool, results: Path, arguments: tuple[str, ...], what: str
) -> None:
    """What, where, how to mend; exit status 2."""
    ended = tool(*arguments, "--results", results)
    assert ended.status == 2
    assert what in ended.complaint


def test_results_of_another_schema_are_refused(tool: Tool, results: Path) -> None:
    """A file of a later version, or one that was changed by hand."""
    content = json.loads(results.read_text(encoding="utf-8"))
    results.write_text(json.dumps({**content, "schema": 2}), encoding="utf-8")
    ended = tool("values", "--results", results)
    assert ended.status == 2
    assert "schema 2, this version reads schema 1" in ended.complaint


def test_check_docs_finds_mends_and_is_content(tool: Tool, results: Path, tmp_path: Path) -> None:
    """Stale: 1, told with file and line. Mended: 0. Then all is so."""
    page = tmp_path / "page.md"
    page.write_text(
        "Slope <!-- verify: score-variance.slope:estimate -->7.5<!-- /verify -->.\n", encoding="utf-8"
    )
    call = ("check-docs", page, "--results", results)
    stale = tool(*call)
    assert stale.status == 1
    assert stale.out.startswith(f"{page}:1: score-variance.slope:estimate: printed '7.5', now '")
    assert f"{page}: 1 quotation, 1 not so" in stale.out
    assert "--write" in stale.out
    mended = tool(*call, "--write")
    assert mended.status == 0
    assert "; mended" in mended.out
    content = tool(*call)
    assert content.status == 0
    first, second = content.out.splitlines()
    assert first == f"{page}: 1 quotation, all so"
    assert second.startswith("held against the results of seed 20170612, ")


def test_export_and_badge_write_files(tool: Tool, results: Path, tmp_path: Path) -> None:
    """Whole files, named on standard output."""
    macros = tool("export", "score-variance", "--out", tmp_path / "verify.tex", "--results", results)
    assert macros.out.strip() == str(tmp_path / "verify.tex")
    assert r"\verifyvalue{score-variance.slope}" in (tmp_path / "verify.tex").read_text(encoding="utf-8")
    assert "pairwise" not in (tmp_path / "verify.tex").read_text(encoding="utf-8")
    made = tool("badge", "score-variance", "--out", tmp_path, "--results", results)
    assert made.status == 0
    assert made.out.splitlines() == [str(tmp_path / f"score-variance.{kind}") for kind in ("svg", "json")]


def test_a_run_writes_its_summary(tool: Tool, tmp_path: Path) -> None:
    """For a CI job's page, beside JUnit's XML."""
    options = ("--profile", "quick", "--out", tmp_path, "--summary", tmp_path / "summary.md")
    ended = tool("run", "worked-dot-products", *options, "--junit", tmp_path / "junit.xml")
    assert ended.status == 0
    assert (
        (tmp_path / "summary.md").read_text(encoding="utf-8").startswith("## sdpa-verify: 1 of 1 claims hold")
    )
    assert (tmp_path / "junit.xml").is_file()
