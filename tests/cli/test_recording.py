"""``sdpa-verify record`` runs a program unchanged and leaves a whole recording, however the program ends."""

import resource
from pathlib import Path

import pytest

from tests.tool import begin, finish
from verify.auditing.record import load

pytest.importorskip("torch", reason="needs the extra [torch]")

PROGRAM = """
import sys
import torch
layer = torch.nn.MultiheadAttention(8, 2)
x = torch.randn(5, 3, 8)
print("result", sys.argv[1:], float(layer(x, x, x)[0].isfinite().all()))
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A program that attends and ends as its first argument says."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM + "eval(sys.argv[1])\n")
    return path


@pytest.mark.parametrize(
    ("ending", "status", "said"),
    [
        ("0", 0, "sdpa-verify: 1 layer recorded; judge with"),
        pytest.param("sys.exit(7)", 7, "1 layer recorded", marks=pytest.mark.slow),
        pytest.param("1 // 0", 1, "ZeroDivisionError", marks=pytest.mark.slow),
        pytest.param(
            "__import__('os').kill(__import__('os').getpid(), 15)", 143, "1 layer", marks=pytest.mark.slow
        ),
    ],
)
def test_a_program_is_recorded(tmp_path: Path, script: Path, ending: str, status: int, said: str) -> None:
    """Its output and status are its own, its arguments too."""
    out = tmp_path / "rec"
    ended = finish(begin("record", "--out", str(out), str(script), ending, "--out", "x"))
    assert (ended.status, ended.out) == (status, f"result {[ending, '--out', 'x']} 1.0\n")
    assert said in ended.err
    recording = load(out)
    assert recording.source == "program.py"
    (call,) = recording.layers[0].calls
    assert call.query.shape == (3, 2, 5, 4)


@pytest.mark.slow
def test_a_program_without_attention(tmp_path: Path) -> None:
    """That is said in one line, and nothing is left that would be in the way of the next try."""
    path = tmp_path / "program.py"
    path.write_text("import sys\nsys.exit(int(sys.argv[1]))\n")
    out = tmp_path / "rec"
    for status, wanted in [("0", 2), ("5", 5)]:
        ended = finish(begin("record", "--out", str(out), str(path), status))
        assert ended.status == wanted
        assert ended.err.startswith("sdpa-verify: record: no attention call was seen; recorded are")
        assert "written out: save q, k, v and out with np.savez, and audit that file" in ended.err
        assert ended.err.count("\n") == 1
    assert not out.exists()


@pytest.mark.slow
def test_a_full_disk(tmp_path: Path, script: Path) -> None:
    """The program ends as it would; that nothing could be kept, and why, is one line, and no file is left."""
    out = tmp_path / "rec"
    for ending, status in [("0", 2), ("sys.exit(7)", 7)]:
        process = begin("record", "--out", str(out), str(script), ending)
        # Not before it starts, which would fork this process: another test's JAX warns of that.
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (512, 512))
        ended = finish(process)
        assert (ended.status, ended.out[:6]) == (status, "result")
        assert ended.complaint.startswith("record: no attention call could be recorded; ")
        assert "File too large" in ended.complaint
        assert list(out.iterdir()) == []
