"""The citing commands as people call them, with their mistakes."""

import re
from pathlib import Path

import pytest

from tests.auditing.records import bad
from tests.report.records import record
from tests.tool import Tool
from verify.citing import citations, documents
from verify.citing.exports import FORMATS
from verify.citing.values import chosen
from verify.cli.citing import CITATIONS, EXPORTS, OUTCOMES
from verify.evidence.load import shipped


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Return a results file with a claim of every outcome."""
    path = tmp_path / "results.json"
    path.write_text(record().to_json(), encoding="utf-8")
    return path


def test_an_audit_is_quoted_as_a_run_is(tool: Tool, tmp_path: Path) -> None:
    """Values, citations, documents and macros of audit.json, with a finding of every judgement."""
    audit, page = tmp_path / "audit.json", tmp_path / "page.md"
    audit.write_text(bad(2, 2).to_json(), encoding="utf-8")
    key, scale = (f"decoder-layers-0-self-attn.{name}" for name in ("overflow", "scale"))
    given = ("--results", audit)
    assert tool("values", key, *given).out.split()[0] == key
    assert tool("cite", "decoder.layers.0.self_attn.scale", *given).out == tool("cite", scale, *given).out
    assert "audit:refuted" in tool("values", "audit", *given).out
    assert f"sdpa-verify 0.1.0, {key}" in tool("cite", key, *given).out
    assert tool("cite", "audit", "--format", "bibtex", *given).out.startswith("@misc{sdpa-verify:audit,")
    assert tool("export", "--out", tmp_path / "audit.tex", *given).status == 0
    page.write_text(f"Share <!-- verify: {key}:estimate|default -->0.5<!-- /verify -->.", encoding="utf-8")
    assert "printed '0.5', now '" in tool("check-docs", page, *given).out
    assert tool("check-docs", "--write", page, *given).status == 0
    assert tool("check-docs", page, *given).status == 0
    for key, text, status in ((f"{scale}:estimate", "0.3535534", 1), (f"{scale}:judgement", "refuted", 0)):
        # Its figures rest on what is wrong; that it is refuted may be said.
        page.write_text(f"It is <!-- verify: {key} -->{text}<!-- /verify -->.", encoding="utf-8")
        ended = tool("check-docs", page, *given)
        assert (ended.status, "its finding is refuted; rewrite" in ended.out) == (status, bool(status))


def test_a_claim_is_cited_by_its_number(tool: Tool) -> None:
    """The number in the report names a claim on the command line; what is printed is its key."""
    assert tool("values", "7.4.kurtosis-d8").out == tool("values", "query-key-normalisation.kurtosis-d8").out
    assert tool("cite", "1.2").out == tool("cite", "score-variance").out
    assert "; did you mean 'query-key-normalisation'?" in tool("cite", "qk-norm").complaint


def test_values_are_of_the_results_given_or_the_last_run_or_the_reference(
    tool: Tool, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Key and text, in columns."""
    part = tool("values", "score-variance", "run", "--results", results).out
    keys = [line.split()[0] for line in part.splitlines()]
    assert keys == [value.key for value in chosen(record(), ["score-variance", "run"])]
    checks = sum(len(claim.checks) for claim in shipped().claims)
    monkeypatch.chdir(tmp_path)
    reference = tool("values", "run").out
    assert f"run:checks                 {checks}" in reference
    (tmp_path / "reports").mkdir()
    results.rename(tmp_path / "reports" / "results.json")
    assert tool("values", "run").out != reference


@pytest.mark.parametrize("form", FORMATS)
def test_files_are_written_and_named(tool: Tool, results: Path, form: str, tmp_path: Path) -> None:
    """With a line for each value chosen; a badge has the name of its claim."""
    ended = tool("export", "score-variance", "--format", form, "--results", results, "--out", tmp_path / "it")
    assert (ended.status, ended.out) == (0, f"{tmp_path / 'it'}\n")
    text = (tmp_path / "it").read_text(encoding="utf-8")
    assert re.search(r"score.variance.*?slope.*?estimate", text, re.DOTALL)
    assert not re.search("over.scaling", text)
    made = tool("badge", "score-variance", "--out", tmp_path, "--results", results)
    assert (made.status, made.out) == (0, f"{tmp_path / 'score-variance.svg'}\n")


def test_help_names_every_format() -> None:
    """Those of the tables, which help does not load."""
    assert (*citations.FORMS,) == CITATIONS
    assert (*documents.FORMS,) == OUTCOMES
    assert (*FORMATS,) == EXPORTS


def test_mistakes_are_reported_in_one_line(tool: Tool, results: Path) -> None:
    """What, where, how to fix; exit status 2."""
    for arguments, what in (
        (("cite", "score-varianc"), "no value 'score-varianc' in these results; did you mean 'score-varian"),
        (("cite", "score-variance", "--format", "docx"), "'docx' is not one of 'bibtex', 'csl-json'"),
        (("cite", "run:seed"), "'run:seed' is a part of what is cited as a whole; cite 'run'"),
        (("cite", "score-variance.slope:estimate"), "cite 'score-variance.slope'"),
        (("check-docs", "x.md", "--write", "--diff"), "--write and --diff: give one of them"),
        (("check-docs", "no/*.md"), "no/*.md: no file fits this pattern"),
        (("check-docs",), "Missing argument 'FILE...'"),
    ):
        ended = tool(*arguments, "--results", results)
        assert ended.status == 2
        assert what in ended.complaint
