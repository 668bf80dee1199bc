"""The whole session: a small model audited as it is and with its scale removed."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the extra [torch]")

from tests.tool import Ended  # noqa: E402 - it needs the extra
from verify.evidence.audits import Judgement  # noqa: E402
from verify.evidence.load import load_audit  # noqa: E402

pytestmark = pytest.mark.slow

PROGRAM = """
import sys
import torch

SCALE = float(sys.argv[1]) if len(sys.argv) > 1 else None


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.project = torch.nn.Linear(64, 192, bias=False)

    def forward(self, x):
        q, k, v = (one.unflatten(-1, (4, 16)).transpose(1, 2) for one in self.project(x).chunk(3, -1))
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=SCALE)
        return x + out.transpose(1, 2).flatten(2)


torch.manual_seed(1)
model = torch.nn.Sequential(Attention(), Attention())
with torch.no_grad():
    print(*model(torch.randn(256, 24, 64)).shape)
"""
NAMED = "divide by √16, not √64: every score is 2 times too small"


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Keep PyTorch from starting threads for matrices this small."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def ran(tool: Callable[..., Ended], status: int, *arguments: object) -> Ended:
    """Run the tool in this process, and see that it ends as it should."""
    ended = tool(*arguments)
    assert (ended.status, "Traceback" in ended.err) == (status, False), ended
    return ended


def test_the_session_on_the_command_line(
    tool: Callable[..., Ended], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program is recorded unchanged; evidence, page, quotations, badge and JUnit agree."""
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(PROGRAM)

    recorded = ran(tool, 0, "record", "--max-sequences", 256, "--out", "right", "model.py")
    assert recorded.out == "256 24 64\n"
    assert "`sdpa-verify audit right`" in recorded.err
    right = ran(tool, 0, "audit", "right", "--out", "right-audit")
    assert "\nconfirmed: 2 layers, 8 heads; 2 calls, 512 sequences" in right.out
    ran(tool, 0, "record", "--out", "part", "model.py")
    ran(tool, 0, "audit", "part", "--out", "part-audit")

    ran(tool, 0, "record", "--out", "without", "model.py", "0.125")
    without = ran(tool, 1, "audit", "without", "--out", "audit", "--junit", "junit.xml")
    wrong = without.out.splitlines()[0]
    assert wrong.startswith("✗ all 2 layers: scale refuted: ")
    assert NAMED in wrong
    record = load_audit(tmp_path / "audit" / "audit.json")
    refuted = [one for one in record.findings if one.judgement is Judgement.REFUTED]
    assert len(refuted) == 2
    assert (tmp_path / "junit.xml").read_text("utf-8").count("<failure") == len(refuted)

    page = (tmp_path / "audit" / "audit.html").read_bytes()
    assert "divide by" in page.decode().lower()
    ran(tool, 1, "render", "audit/audit.json", "--out", "again")
    assert (tmp_path / "again" / "audit.html").read_bytes() == page
    badged(tool, tmp_path)
    quoted(tool, tmp_path / "note.md", f"{record.layers[0].id}.scale:estimate")


def badged(tool: Callable[..., Ended], folder: Path) -> None:
    """Make badges of the audit that passes and of the one that fails."""
    for results, message in [("right-audit", "confirmed"), ("audit", "refuted")]:
        ran(tool, 0, "badge", "audit", "--results", f"{results}/audit.json")
        endpoint = json.loads((folder / "attention-audit.json").read_text("utf-8"))
        assert endpoint["message"] == message


def quoted(tool: Callable[..., Ended], note: Path, key: str) -> None:
    """Quote the implied scale in a document, which is so with the scale, and no longer without."""
    right, without = (("--results", f"{name}/audit.json") for name in ("right-audit", "audit"))
    (listed,) = ran(tool, 0, "values", key, *right).out.splitlines()
    value = listed.removeprefix(key).strip()
    note.write_text(f"The scale is <!-- verify: {key}|default -->{value}<!-- /verify -->.\n")
    ran(tool, 0, "check-docs", note, *right)
    stale = ran(tool, 1, "check-docs", note, *without)
    assert value in stale.out
