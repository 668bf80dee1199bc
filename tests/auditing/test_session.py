"""The whole session: a small model audited as it is and with its scale removed."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the extra [torch]")

import verify  # noqa: E402 - it needs the extra
from tests.auditing import retrieval  # noqa: E402
from tests.auditing.retrieval import HEADS, D, Lookup  # noqa: E402
from tests.tool import Ended  # noqa: E402
from verify.evidence.audits import AuditRecord, Judgement  # noqa: E402
from verify.evidence.load import load_audit as load  # noqa: E402

LAYERS = ("layers-0-attention", "layers-1-attention")
NAMED = ("the scale is 1: no scale is applied", f"divide by √{D}: every score is 4 times too large")


pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Keep PyTorch from starting threads for matrices this small."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def model() -> Lookup:
    """The model before it is trained."""
    torch.manual_seed(1)
    return Lookup()


def audited(model: Lookup, sequences: int = 64) -> AuditRecord:
    """Record the model on sequences that it has not seen, and audit that."""
    with verify.record(model, max_sequences=sequences) as recording:
        retrieval.unseen(model, sequences)
    return verify.audit(recording, workers=1)


def test_a_model_with_and_without_its_scale(model: Lookup) -> None:
    """What is right is confirmed; a scale that is removed is refuted and named on every head."""
    right = audited(model)
    assert right.exit_status == 0
    assert {one.judgement for one in right.findings} == {Judgement.CONFIRMED}
    for layer in model.layers:
        layer.attention.scale = 1.0
    without = audited(model)
    assert without.exit_status == 1
    refuted = [one for one in without.findings if one.judgement is Judgement.REFUTED]
    assert {one.kind for one in refuted} == {"scale-applied", "scale-implied"}
    assert len(refuted) == 2 * HEADS * len(LAYERS)
    assert {(one.cause, one.fix) for one in refuted} == {NAMED}


def ran(tool: Callable[..., Ended], status: int, *arguments: object) -> Ended:
    """Run the tool in this process, and see that it ends as it should."""
    ended = tool(*arguments)
    assert (ended.status, "Traceback" in ended.err) == (status, False), ended
    return ended


def test_the_session_on_the_command_line(
    tool: Callable[..., Ended], model: Lookup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program is recorded unchanged; evidence, page, quotations, badge and JUnit agree."""
    monkeypatch.chdir(tmp_path)
    torch.save(model.state_dict(), "model.pt")
    program = retrieval.__file__

    recorded = ran(tool, 0, "record", "--max-sequences", 256, "--out", "right", program, "model.pt")
    assert recorded.out.startswith("loss 2.")
    assert "`sdpa-verify audit right`" in recorded.err
    right = ran(tool, 0, "audit", "right", "--no-pages", "--out", "right-audit")
    assert right.out.startswith("confirmed: 2 layers, 8 heads: ")
    ran(tool, 0, "record", "--out", "part", program, "model.pt")
    unseen = ran(tool, 3, "audit", "part", "--no-pages", "--out", "part-audit")
    assert "calls had sequences after the first 200, which were left out" in unseen.out

    ran(tool, 0, "record", "--out", "without", program, "model.pt", "1.0")
    without = ran(tool, 1, "audit", "without", "--out", "audit", "--junit", "junit.xml")
    wrong = without.out.splitlines()[0]
    assert wrong.startswith("✗ all 2 layers, all 4 heads: scale-applied, scale-implied refuted: ")
    assert wrong.endswith("; ".join(NAMED))
    record = load(tmp_path / "audit" / "audit.json")
    refuted = [one for one in record.findings if one.judgement is Judgement.REFUTED]
    assert (tmp_path / "junit.xml").read_text("utf-8").count("<failure") == len(refuted)

    page = (tmp_path / "audit" / "audit.html").read_bytes()
    assert f"divide by √{D}" in page.decode()
    ran(tool, 1, "render", "audit/audit.json", "--out", "again")
    assert (tmp_path / "again" / "audit.html").read_bytes() == page
    badged(tool, tmp_path)
    quoted(tool, tmp_path / "note.md")


def badged(tool: Callable[..., Ended], folder: Path) -> None:
    """Make badges of the audit that passes and of the one that fails."""
    for results, message in [("right-audit", "confirmed"), ("audit", "refuted")]:
        ran(tool, 0, "badge", "audit", "--results", f"{results}/audit.json")
        endpoint = json.loads((folder / "attention-audit.json").read_text("utf-8"))
        assert endpoint["message"] == message


def quoted(tool: Callable[..., Ended], note: Path) -> None:
    """Quote the implied scale in a document, which is so with the scale, and no longer without."""
    right, without = (("--results", f"{name}/audit.json") for name in ("right-audit", "audit"))
    key = f"{LAYERS[0]}.scale-implied-head-0:estimate"
    (listed,) = ran(tool, 0, "values", key, *right).out.splitlines()
    value = listed.removeprefix(key).strip()
    note.write_text(f"The scale is <!-- verify: {key}|default -->{value}<!-- /verify -->.\n")
    ran(tool, 0, "check-docs", note, *right)
    stale = ran(tool, 1, "check-docs", note, *without)
    assert value in stale.out
