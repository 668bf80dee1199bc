"""Audits and probes on the command line: what is wrong first, the right status, one-line errors."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.auditing import records
from tests.auditing.calls import arrays, attention
from tests.tool import Tool
from verify.evidence.audits import AuditRecord
from verify.evidence.comparisons import ComparisonRecord

D, HEADS = 16, 4


def archive(folder: Path, scale: float = D**-0.5, **more: Any) -> Path:
    """Write an archive of one layer whose attention had this scale, and return its path."""
    q, k, v = (array.astype(np.float32) for array in arrays(1, sequences=10, heads=HEADS, d=D))
    path = folder / "layer.npz"
    np.savez(path, q=q, k=k, v=v, out=attention(q, k, v, scale=scale).astype(np.float32), **more)
    return path


@pytest.mark.usefixtures("no_faces")
def test_a_wrong_scale_comes_first_with_its_fix(tool: Tool, tmp_path: Path) -> None:
    """One line for all heads alike says what to divide by; then the counts, then the files; status 1."""
    out, junit = tmp_path / "out", tmp_path / "junit.xml"
    wrong = archive(tmp_path, (D * HEADS) ** -0.5)
    ended = tool("audit", wrong, "--out", out, "--junit", junit)
    assert ended.status == 1
    first, *_, counts, report, evidence, page = ended.out.splitlines()
    assert first.startswith("✗ layer: scale refuted: ")
    assert "divide by √16, not √64: every score is 2 times too small" in first
    assert counts.startswith("refuted: 1 layer, 4 heads; ")
    assert [report, evidence, page] == [str(junit), str(out / "audit.json"), str(out / "audit.html")]
    record = AuditRecord.model_validate_json((out / "audit.json").read_text("utf-8"))
    assert record.source == "layer.npz"
    assert "divide by √16" in (out / "audit.html").read_text("utf-8")
    assert junit.read_text("utf-8").count("<failure") == 1
    assert tool("audit", wrong, "--intended", "1/sqrt(d*h)", "--out", out).status == 0


def test_two_recordings_are_compared(tool: Tool, tmp_path: Path) -> None:
    """The first layer and quantity that differ, status 1, and a record."""
    (tmp_path / "b").mkdir()
    a, b = archive(tmp_path), archive(tmp_path / "b", scale=0.2, softcap=np.float64(9.0))
    out = tmp_path / "out"
    ended = tool("audit", a, "--against", b, "--out", out)
    assert ended.status == 1
    lines = ended.out.splitlines()
    assert lines[0] == "✗ layer: softcap differs: none in A, 9 in B"
    assert lines[-2:] == ["different: 1 layer, 1 call, 960 rows compared", str(out / "comparison.json")]
    record = ComparisonRecord.model_validate_json((out / "comparison.json").read_text("utf-8"))
    assert record.exit_status == 1
    assert tool("audit", a, "--against", a, "--out", out).status == 0


@pytest.mark.parametrize(
    ("recording", "options", "complaint"),
    [
        ("layer.npz", ("--intended", "1/sqrt("), "intended scale"),
        ("layer.npz", ("--mask", "triangle"), "give one of none, causal"),
        ("layer.npz", ("--against", "none.npz"), "none.npz"),
        ("layer.npz", ("--against", "layer.npz", "--intended", "1/d"), "a comparison judges no scale"),
        ("layer.npz", ("--out", "notes.npz"), "notes.npz/audit.json: cannot be written"),
        ("missing.npz", (), "missing.npz"),
        ("notes.npz", (), "notes.npz"),
        ("misfit.npz", (), "misfit.npz"),
    ],
)
def test_mistakes_get_one_line(
    tool: Tool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    recording: str,
    options: tuple[str, ...],
    complaint: str,
) -> None:
    """Bad options and files: status 2, and no file; a folder that cannot be written is noticed before."""
    monkeypatch.chdir(tmp_path)
    archive(tmp_path)
    Path("notes.npz").write_text("no archive")
    np.savez("misfit.npz", q=np.ones((2, 4, 9, 8), np.float32), k=np.ones((2, 3, 9, 8), np.float32))
    ended = tool("audit", recording, *options)
    assert ended.status == 2
    assert complaint in ended.complaint
    assert not list(tmp_path.glob("audit/*"))


def test_refuted_comes_before_undecided_and_warned() -> None:
    """An audit with every judgement: marks in order, what was not seen, and the counts at the end."""
    record = records.bad()
    shown = str(record).splitlines()
    assert "".join(line[0] for line in shown[:-1]) == "✗✗?!--"
    assert sum(line.startswith("- not seen: ") for line in shown) == len(record.left_out)
    assert shown[-1].startswith("refuted: 4 layers, 16 heads; 24 calls, 192 sequences, all ")
    assert [line[:2] for line in str(records.good()).splitlines()] == ["- ", "co"]


FUNCTION = """
import numpy as np

def attend(q, k, v):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v
"""
GROUPED = FUNCTION.replace("scores =", "k, v = (np.repeat(x, 2, axis=1) for x in (k, v))\n    scores =", 1)
BIASED = FUNCTION.replace("[-1])\n", "[-1]) + np.arange(k.shape[-2])\n", 1)
PROBED: dict[str, tuple[str, tuple[str, ...], int, str]] = {
    "right": (FUNCTION, ("--not-causal",), 0, "57 of 57 are right"),
    "not causal": (FUNCTION, ("--causal",), 1, "✗ causal: no, not yes"),
    "softmax over the queries": (FUNCTION.replace("axis=-1", "axis=-2"), (), 1, "is over the queries"),
    "another scale": (FUNCTION.replace("np.sqrt(q.shape[-1])", "2.9"), (), 1, "the scale is 0.344828"),
    "another scale, intended": (FUNCTION.replace("np.sqrt(q", "(q"), ("--intended", "1/d"), 0, ""),
    "interleaved": (GROUPED, ("--key-heads", "1", "--heads", "2", "--groups", "interleaved"), 0, ""),
    "not tiled": (GROUPED, ("--heads", "4", "--key-heads", "2", "--groups", "tiled"), 1, "not tiled"),
    "no corner": (BIASED, (), 3, "not tried"),
}


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a module's file with attention in it, in the folder of the command; imports are undone."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "kernel", raising=False)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "kernel.py"
    path.write_text(FUNCTION)
    return path


@pytest.mark.parametrize("name", PROBED)
def test_the_status_of_a_probe(tool: Tool, kernel: Path, name: str) -> None:
    """A wrong function ends with 1, one of which no corner was tried with 3; what is expected passes."""
    text, options, status, said = PROBED[name]
    kernel.write_text(text)
    ended = tool("probe", "kernel:attend", "--d-k", "8", "--heads", "1", *options)
    assert ended.status == status, ended
    assert said in ended.out


@pytest.mark.usefixtures("kernel")
def test_what_cannot_be_probed_ends_in_one_line(tool: Tool) -> None:
    """A name without a function is refused, with what to give instead."""
    for named, message in (
        ("attend", "name it as package.module:function"),
        ("math", "names no function; name it as package.module:function"),
        ("no_such_module:attend", "cannot be imported: ModuleNotFoundError"),
        ("kernel:nothing", "has no attribute 'nothing'"),
        ("kernel:np", "is not a function"),
    ):
        ended = tool("probe", named)
        assert ended.status == 2
        assert message in ended.complaint
