"""The commands that verify and report: nothing is lost, and what cannot be done is said before the work."""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.report.records import CLAIMS, record
from tests.tool import Tool
from verify.errors import RenderError
from verify.evidence import RunRecord
from verify.evidence.load import load
from verify.report import pdf, write
from verify.report.write import Written


@pytest.mark.parametrize(
    ("command", "place", "in_the_way"),
    [
        (("run", "--out", "file/reports"), "file/reports/results.json", "Not a directory"),
        (("run", "--out", "."), "results.json", "Is a directory"),
        (("report", "--out", "."), "report.html", "Is a directory"),
        (("run", "--out", "new", "--junit", "file/junit.xml"), "file/junit.xml", "Not a directory"),
    ],
)
def test_what_cannot_be_written_is_reported_before_the_work(
    tool: Tool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    place: str,
    in_the_way: str,
) -> None:
    """A folder in the place of a file, or a file in that of a folder, which stays as it was."""
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("as it was")
    if in_the_way == "Is a directory":
        Path(place).mkdir()
    ended = tool(*command)
    assert ended.status == 2
    assert f"{place}: cannot be written ({in_the_way})" in ended.complaint
    assert ended.err.count("\n") == 1
    assert Path("file").read_text() == "as it was"


def test_a_claim_file_that_is_refused_is_one_failing_case(tool: Tool, tmp_path: Path) -> None:
    """For a CI system takes a job without a report for one that tested nothing."""
    (tmp_path / "broken_law.py").write_text("CLAIM = 3\n", encoding="utf-8")
    junit = tmp_path / "junit.xml"
    own = ("--claims", tmp_path / "broken_law.py")
    ended = tool("run", "--out", tmp_path / "out", "--junit", junit, *own)
    assert ended.status == 2
    text = junit.read_text("utf-8")
    assert (text.count("<testcase"), text.count("<failure"), text.count("<skipped")) == (1, 1, 0)
    assert "broken_law.py" in text.partition("<failure")[2]


def test_a_run_writes_results_and_prints_verdicts(tool: Tool, tmp_path: Path) -> None:
    """Standard output holds the verdicts and the files written, and nothing else."""
    junit, summary = tmp_path / "ci" / "junit.xml", tmp_path / "ci" / "summary.md"
    claims = ("score-mean", "worked-dot-products")
    options = ("--profile", "quick", "--seed", 5, "--workers", 1, "--junit", junit, "--summary", summary)
    ended = tool("run", *claims, *options, "--out", tmp_path / "new" / "folder")
    assert ended.status == 0
    lines = ended.out.splitlines()
    # In the order in which they are settled.
    assert [line[:6] for line in lines[:2]] == ["1/2 ✓ ", "2/2 ✓ "]
    verdicts = ["score-mean           confirmed: ", "worked-dot-products  confirmed: "]
    assert sorted(line[6:38] for line in lines[:2]) == verdicts
    assert lines[2:] == [str(tmp_path / "new" / "folder" / "results.json"), str(junit), str(summary)]
    assert summary.read_text(encoding="utf-8").startswith("## sdpa-verify: 2 of 2 claims hold")
    (counts,) = ended.err.splitlines()
    said = r"2 claims: \d+ measured and \d+ exact checks; (\d+) of \1 negative controls rejected"
    assert re.fullmatch(said, counts)
    content = json.loads((tmp_path / "new" / "folder" / "results.json").read_text())
    chosen = {"seed": 5, "profile": "quick", "tolerance": 0.05}
    assert content["run"]["settings"] == {**chosen, "false_alarm": 1e-3, "power": 0.95}
    assert list(content["run"]["phases_s"]) == ["imports", "verification"]


def test_results_of_other_claims_are_not_replaced(tool: Tool, tmp_path: Path) -> None:
    """Before anything is computed: another folder or a word is asked for; more claims may take the place."""
    results = tmp_path / "results.json"
    results.write_text(record().to_json(), encoding="utf-8")
    before = results.read_bytes()
    given = ("score-variance", "--profile", "quick", "--workers", 1, "--out", tmp_path)
    for command in ("run", "report"):
        ended = tool(command, *given)
        assert ended.status == 2
        assert ended.complaint == (
            f"{results}: has results of {CLAIMS[1].id} and {len(CLAIMS) - 2} more, which this run leaves "
            "out; give another folder with --out, or --force to replace them"
        )
        assert [path.name for path in tmp_path.iterdir()] == ["results.json"]
        assert results.read_bytes() == before
    assert tool("run", *given, "--force").status == 0
    assert [claim.id for claim in load(results).claims] == ["score-variance"]
    assert tool("run", "softmax-identities", *given).status == 0
    assert len(load(results).claims) == 2


@pytest.mark.usefixtures("no_faces")
def test_results_can_be_rendered_elsewhere(
    tool: Tool, tmp_path: Path, small: RunRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rendering needs the results alone, and leaves them byte for byte as they were."""
    monkeypatch.setattr(pdf, "render_pdf", lambda *_: b"%PDF")
    monkeypatch.setattr(os, "cpu_count", lambda: 1)  # so that it is this process that makes the PDF
    results = tmp_path / "another.json"
    results.write_text(small.to_json(), encoding="utf-8")
    ended = tool("render", results, "--out", tmp_path / "report")
    assert ended.status == 0
    names = ["results.json", "report.html", "report.pdf"]
    assert ended.out.splitlines() == [str(tmp_path / "report" / name) for name in names]
    assert (tmp_path / "report" / "results.json").read_bytes() == results.read_bytes()
    assert (tmp_path / "report" / "report.pdf").read_bytes() == b"%PDF"


@pytest.mark.slow
def test_the_exit_status_says_the_outcome(
    tool: Tool, tmp_path: Path, claim_file: Callable[..., Path]
) -> None:
    """0 confirmed, 1 refuted, 3 undecided, and results in any case; other tests here end with 0 and 1."""
    for status, said, change in (
        (0, "✓ doubled-keys  confirmed", ("", "")),
        (1, "✗ doubled-keys  refuted", ("derived, {d: size})", "4 * E(score**2), {d: size}, equals=5 * d)")),
        (3, "? doubled-keys  undecided", ("derived, {d: 8}, equals=2", "4 * E(score**2), {d: 8}, equals=4")),
        (1, "✗ doubled-keys  the derivation failed", ("(4 * d,", "(4 * d + 1,")),
    ):
        options = ("--profile", "quick", "--workers", 1, "--out", tmp_path / str(len(said)))
        ended = tool("run", "doubled-keys", "--claims", claim_file(change), *options)
        assert (ended.status, ended.out[: len(said)]) == (status, said)
        assert (tmp_path / str(len(said)) / "results.json").is_file()


def test_rendering_says_the_outcome(tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """0 confirmed, 1 refuted or not derived, 3 undecided, as the run; 4 where the report is not complete."""
    monkeypatch.setattr(write, "render", lambda *_: Written((), None))
    statuses = set()
    path = tmp_path / "results.json"
    for claim in CLAIMS:
        run = record(claim, statements=())
        path.write_text(run.to_json(), encoding="utf-8")
        ended = tool("render", path)
        assert ended.status == run.exit_status
        statuses.add(ended.status)
    assert statuses == {0, 1, 3}
    problem = RenderError("no ink; buy some")
    monkeypatch.setattr(write, "render", lambda *_: Written((path,), problem))
    ended = tool("render", path)
    assert (ended.status, ended.complaint, ended.out) == (4, "no ink; buy some", f"{path}\n")
