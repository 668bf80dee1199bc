"""Audits and probes on the command line: what is wrong first, the right status, one-line errors."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from tests.auditing import records
from tests.auditing.calls import arrays, attention
from tests.tool import Ended
from verify.cli.auditing import probe
from verify.errors import SettingsError
from verify.evidence.audits import AuditRecord

D, HEADS = 16, 4


def archive(folder: Path, scale: float = D**-0.5, **more: Any) -> Path:
    """Write an archive of one layer whose attention had this scale, and return its path."""
    q, k, v = (one.astype(np.float32) for one in arrays(1, sequences=10, heads=HEADS, d=D))
    path = folder / "layer.npz"
    np.savez(path, q=q, k=k, v=v, out=attention(q, k, v, scale=scale).astype(np.float32), **more)
    return path


def test_a_wrong_scale_comes_first_with_its_fix(tool: Callable[..., Ended], tmp_path: Path) -> None:
    """One line for all heads alike says what to divide by; then the counts, then the file; status 1."""
    ended = tool("audit", archive(tmp_path, (D * HEADS) ** -0.5), "--no-pages", "--out", tmp_path / "out")
    assert ended.status == 1
    first, *_, counts, path = ended.out.splitlines()
    assert first.startswith("✗ layer: scale refuted: ")
    assert "divide by √16, not √64: every score is 2 times too small" in first
    assert counts.startswith("refuted: 1 layer, 4 heads; ")
    assert path == str(tmp_path / "out" / "audit.json")
    record = AuditRecord.model_validate_json((tmp_path / "out" / "audit.json").read_text("utf-8"))
    assert record.source == "layer.npz"


def test_two_recordings_are_compared(tool: Callable[..., Ended], tmp_path: Path) -> None:
    """The first layer and quantity that differ, status 1; none of what judges a scale goes with it."""
    (tmp_path / "b").mkdir()
    one, other = archive(tmp_path), archive(tmp_path / "b", scale=0.2, softcap=np.float64(9.0))
    out = tmp_path / "out"
    ended = tool("audit", one, "--against", other, "--no-pages", "--out", out)
    assert ended.status == 1
    first, *_, path = ended.out.splitlines()
    assert first == "✗ layer: softcap differs: none in A, 9 in B"
    assert path == str(out / "comparison.json")
    assert tool("audit", one, "--against", one, "--no-pages", "--out", out).status == 0
    refused = tool("audit", one, "--against", other, "--intended", "1/d")
    assert (refused.status, "--intended and --against" in refused.complaint) == (2, True)
    missing = tool("audit", one, "--against", tmp_path / "none.npz")
    assert (missing.status, "none.npz" in missing.complaint) == (2, True)


@pytest.mark.slow
def test_the_pages_of_a_comparison_are_made_again(tool: Callable[..., Ended], tmp_path: Path) -> None:
    """From its evidence alone, with the same status."""
    out = tmp_path / "out"
    ended = tool("audit", archive(tmp_path), "--against", tmp_path / "layer.npz", "--out", out)
    assert ended.status == 0
    names = ["comparison.json", "comparison.html"]
    assert ended.out.splitlines()[-2:] == [str(out / name) for name in names]
    again = tool("render", out / "comparison.json", "--out", tmp_path / "again")
    assert again.status == 0
    assert (tmp_path / "again" / names[1]).read_bytes() == (out / names[1]).read_bytes()


@pytest.mark.slow
def test_pages_and_the_form_of_ci_systems_are_written(tool: Callable[..., Ended], tmp_path: Path) -> None:
    """Beside the evidence."""
    out, junit = tmp_path / "out", tmp_path / "junit.xml"
    wrong = archive(tmp_path, (D * HEADS) ** -0.5)
    ended = tool("audit", wrong, "--out", out, "--junit", junit)
    assert ended.status == 1
    names = ["audit.json", "audit.html"]
    assert ended.out.splitlines()[-3:] == [str(junit), *(str(out / name) for name in names)]
    assert b"Divide by" in (out / "audit.html").read_bytes()
    assert junit.read_text("utf-8").count("<failure") == 1


def test_an_intention_is_heard(tool: Callable[..., Ended], tmp_path: Path) -> None:
    """What was meant makes a scale right."""
    wrong = archive(tmp_path, (D * HEADS) ** -0.5)
    meant = ("--intended", "1/sqrt(d*h)", "--no-pages")
    assert tool("audit", wrong, *meant, "--out", tmp_path).status == 0


def test_an_audit_beside_earlier_pages_says_so(tool: Callable[..., Ended], tmp_path: Path) -> None:
    """They may show a fault that is mended by now."""
    (tmp_path / "audit.html").write_text("an earlier audit")
    ended = tool("audit", archive(tmp_path), "--no-pages", "--workers", 1, "--out", tmp_path)
    assert ended.status == 0
    assert f"audit.html in {tmp_path} is from an earlier run" in ended.err
    assert (tmp_path / "audit.html").read_text() == "an earlier audit"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--intended", "1/sqrt("), "intended scale"),
        (("--mask", "triangle"), "give one of none, causal"),
        (("--allow-unseen", "outputs"), "did you mean 'output'"),
        (("--workers", "0"), "at least one is needed"),
    ],
)
def test_bad_options_get_one_line(
    tool: Callable[..., Ended], tmp_path: Path, options: tuple[str, ...], complaint: str
) -> None:
    """Status 2, one line, and no file."""
    ended = tool("audit", archive(tmp_path), "--out", tmp_path / "out", *options)
    assert ended.status == 2
    assert complaint in ended.complaint
    assert not (tmp_path / "out" / "audit.json").exists()


def test_bad_files_get_one_line(tool: Callable[..., Ended], tmp_path: Path) -> None:
    """Missing, no archive, and arrays that do not fit."""
    text = tmp_path / "notes.npz"
    text.write_text("no archive")
    misfit = tmp_path / "misfit.npz"
    np.savez(misfit, q=np.ones((2, 4, 9, 8), np.float32), k=np.ones((2, 3, 9, 8), np.float32))
    for path in (tmp_path / "missing.npz", text, misfit):
        ended = tool("audit", path, "--out", tmp_path)
        assert ended.status == 2
        assert path.name in ended.complaint


def test_a_folder_that_cannot_be_written_is_found_before_the_work(
    tool: Callable[..., Ended], tmp_path: Path
) -> None:
    """The output folder is a file: one line at once."""
    taken = tmp_path / "taken"
    taken.write_text("")
    ended = tool("audit", archive(tmp_path), "--out", taken)
    assert ended.status == 2
    assert "taken" in ended.complaint


def test_refuted_comes_before_undecided_and_warned() -> None:
    """An audit with every judgement: marks in order, what was not seen, and the counts at the end."""
    record = records.bad()
    shown = str(record).splitlines()
    marks = "".join(line[0] for line in shown[:-1])
    assert marks == "".join(sorted(marks, key="✗?!-".index))
    assert {"✗", "-"} <= set(marks)
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
SIZES = ("--d-k", "8", "--heads", "1")


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of a file with attention in it; imports are undone."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "kernel", raising=False)
    path = tmp_path / "kernel.py"
    path.write_text(FUNCTION)
    return str(path)


def test_what_a_function_does_is_printed(kernel: str) -> None:
    """What is as it is expected ends well."""
    done = CliRunner().invoke(probe, [f"{kernel}:attend", *SIZES, "--intended", "1/sqrt(d)", "--not-causal"])
    assert done.exit_code == 0
    assert "scale          0.353553 = 1/sqrt(d)" in done.output
    assert "softmax over   keys" in done.output


def test_what_is_expected_decides_the_status(kernel: str) -> None:
    """Each option says what is expected, and the status is 1 where anything is otherwise."""
    options = ("--intended", "1/d", "--causal", "--sink", "--softcap", "30")
    done = CliRunner().invoke(probe, [f"{kernel}:attend", *SIZES, *options])
    assert done.exit_code == 1
    for said in (
        "✗ the scale is 1/√8 = 1/√d_k: the default 1/√d_k is applied",
        "✗ it is not causal",
        "✗ the softmax has no sink",
        "✗ soft-cap: none, not 30",
    ):
        assert said in done.output


GROUPED = FUNCTION.replace("scores =", "k, v = (np.repeat(x, 2, axis=1) for x in (k, v))\n    scores =")
PROBED = {
    "right": (FUNCTION, (), 0, "62 of 62 are right"),
    "softmax over the queries": (FUNCTION.replace("axis=-1", "axis=-2"), (), 1, "is over the queries"),
    "off by 7%": (FUNCTION + "    return 1\n", (), 1, ""),
    "another scale": (FUNCTION.replace("np.sqrt(q.shape[-1])", "2.9"), (), 1, "the scale is 0.344"),
    "another scale, intended": (FUNCTION.replace("np.sqrt(q", "(q"), ("--intended", "1/d"), 0, ""),
    "interleaved": (GROUPED, ("--key-heads", "1", "--heads", "2", "--groups", "interleaved"), 0, ""),
    "not tiled": (GROUPED, ("--heads", "4", "--key-heads", "2", "--groups", "tiled"), 1, "not tiled"),
    "no corner": (
        FUNCTION.replace("[-1])\n", "[-1]) + np.arange(k.shape[-2])\n", 1),
        ("--bias",),
        3,
        "not tried",
    ),
}


@pytest.mark.parametrize("name", PROBED)
def test_the_status_of_a_probe(kernel: str, name: str) -> None:
    """A wrong function ends with 1, one of which no corner was tried with 3; what is expected passes."""
    text, options, status, said = PROBED[name]
    for percent in (7, 29, 100) if name == "off by 7%" else (0,):
        off = f" * (1 + {percent / 100} * np.sin(np.arange(v.shape[-1])))"
        Path(kernel).write_text(text.replace("@ v\n    return 1\n", f"@ v{off}\n"))
        sys.modules.pop("kernel", None)
        done = CliRunner().invoke(probe, [f"{kernel}:attend", *SIZES, *options])
        assert (done.exit_code, done.exception is None or status > 0) == (status, True), done.output
        assert said in done.output


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("attend", "name it as package.module:function"),
        ("no_such_module:attend", "cannot be imported: ModuleNotFoundError"),
        ("{kernel}:nothing", "has no attribute 'nothing'"),
        ("{kernel}x.py:attend", "there is no such file"),
        ("{kernel}:np", "kernel.py:np: is not a function"),
    ],
)
def test_what_cannot_be_found_ends_in_one_line(kernel: str, named: str, message: str) -> None:
    """A name without a function is refused, with what to give instead."""
    done = CliRunner().invoke(probe, [named.format(kernel=kernel)])
    assert isinstance(done.exception, SettingsError)
    assert message in str(done.exception)
    assert "\n" not in str(done.exception)
