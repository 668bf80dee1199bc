"""``sdpa-verify ask``: an answer on the terminal, a report on request, and one line for each mistake."""

import json
from pathlib import Path

import pytest

from tests.tool import Tool, begin, finish

FEW = ("--dimensions", "4,16", "--tolerance", "0.05", "--workers", "1")


def test_answer_has_formula_chain_table_and_fit(tool: Tool) -> None:
    """The usual question is answered with its formula, the lines that derive it, a table and a fit."""
    ended = tool("ask", "Var(q·k)", *FEW)
    assert ended.status == 0
    assert ended.err == ""
    lines = ended.out.splitlines()
    assert lines[0] == "Var(q·k) for normal components"
    assert "Derived for every d_k: Var(q·k) = d_k" in lines
    assert "  = E[(q·k)²] − E[q·k]²" in lines
    assert [line.split()[:2] for line in lines if line.endswith("✓ confirmed")] == [
        ["4", "4"],
        ["16", "16"],
        ["slope", "1"],
        ["intercept", "0"],
        ["exponent", "1"],
    ]
    assert max(map(len, lines)) <= 80


def test_measured_only_ends_with_3(tool: Tool) -> None:
    """The exit status says what became of the question."""
    measured = tool("ask", "E(max(p))", *FEW)
    assert measured.status == 3
    assert "Nothing is derived" in measured.out
    assert "Measured only, twice: the samples agree." in measured.out


MISTAKES = [
    (["Var(q·k)", "--query-law", "laplac"], "--query-law laplac: no such law; did you mean 'laplace'?", []),
    (["Var(q·k)", "--dimensions", "0"], "--dimensions 0: give whole numbers from 1 to 10,000,000", []),
    (["Var(q·k)", "--dimensions", "4;16"], "--dimensions 4;16: give whole numbers with commas", []),
    (["Var(q·k)", "--workers", "0"], "--workers 0: at least one is needed", []),
    (["Var(q·k)", "--out", "/dev/null"], "/dev/null", []),
    ([], "Missing argument 'QUESTION'", []),
    (["Vra(q·k)"], "no function 'Vra'; did you mean 'Var'?", ["  Vra(q·k)", "  ^"]),
    (["Var(q·k)", "--against", "2*x"], "a formula has d_k and n only, not x", ["  2*x", "    ^"]),
]


def test_mistakes_are_a_line_and_status_2(tool: Tool) -> None:
    """With how to correct it, before an answer; an expression is shown with a mark at the place."""
    for arguments, problem, marked in MISTAKES:
        ended = tool("ask", *arguments)
        assert (ended.status, ended.out) == (2, "")
        line, *shown = ended.err.splitlines()
        assert line.startswith(f"sdpa-verify: {problem}")
        assert shown == marked


@pytest.mark.slow
def test_answer_is_written_as_an_ordinary_report(tmp_path: Path) -> None:
    """With --out there are page, PDF and results, also of what is only measured."""
    for question in ("Var(q·k)", "E(max(p_scaled))"):
        ended = finish(begin("ask", question, "--out", tmp_path, *FEW))
        assert ended.status in (0, 3), ended.err
        results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
        (claim,) = results["claims"]
        assert claim["id"] == "question"
        assert claim["verdict"] == "confirmed"
        assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
        assert "question" in (tmp_path / "report.html").read_text(encoding="utf-8")
