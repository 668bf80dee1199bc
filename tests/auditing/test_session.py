"""The whole session: a small model audited before it is trained, after, and with its scale removed."""

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the extra [torch]")

import verify  # noqa: E402 - it needs the extra
from tests.auditing import retrieval  # noqa: E402
from tests.auditing.retrieval import HEADS, D, Lookup  # noqa: E402
from tests.tool import Ended  # noqa: E402
from verify.evidence.audits import AuditRecord, Finding, Judgement  # noqa: E402
from verify.evidence.load import load_audit as load  # noqa: E402

STEPS = 60
GATE = "row-variance:0.5..2"
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


def audited(model: Lookup, sequences: int = 64, gate: tuple[str, ...] = ()) -> AuditRecord:
    """Record the model on sequences that it has not seen, and audit that."""
    with verify.record(model, max_sequences=sequences) as recording:
        retrieval.unseen(model, sequences)
    return verify.audit(recording, gate=gate, workers=1)


def findings(record: AuditRecord, kind: str) -> list[Finding]:
    """Return the findings of one kind, of each head in each layer."""
    found = [one for one in record.findings if one.kind == kind]
    assert len(found) == HEADS * len(LAYERS)
    return found


def judgements(record: AuditRecord, kind: str) -> set[Judgement]:
    """Return what an audit says of one kind."""
    return {one.judgement for one in findings(record, kind)}


def all_below(record: AuditRecord, other: AuditRecord, kind: str) -> bool:
    """Return whether each head has its whole interval below the one of the other audit."""
    pairs = zip(findings(record, kind), findings(other, kind), strict=True)
    ends = [(one.interval[1], another.interval[0]) for one, another in pairs]
    return all(high is not None and low is not None and high < low for high, low in ends)


def test_a_model_before_training_after_and_without_its_scale(model: Lookup) -> None:
    """What training does to attention is reported, and passes; what is wrong is refuted and named."""
    untrained_loss = retrieval.unseen(model)
    before = audited(model, 256, (GATE,))
    assert before.exit_status == 0
    assert {one.judgement for one in before.findings if one.decides} == {Judgement.CONFIRMED}
    assert judgements(before, "row-variance") == {Judgement.CONFIRMED}

    assert retrieval.trained(model, STEPS) < 0.1 < math.log(retrieval.VALUES) < untrained_loss
    after = audited(model)
    assert after.exit_status == 0
    assert {one.judgement for one in after.findings} == {Judgement.CONFIRMED, Judgement.REPORTED}

    for layer in model.layers:
        layer.attention.scale = 1.0
    without = audited(model)
    assert without.exit_status == 1
    refuted = [one for one in without.findings if one.judgement is Judgement.REFUTED]
    assert {one.kind for one in refuted} == {"scale-applied", "scale-implied"}
    assert len(refuted) == 2 * HEADS * len(LAYERS)
    assert {(one.cause, one.fix) for one in refuted} == {NAMED}
    assert judgements(without, "reconstruction") == {Judgement.CONFIRMED}

    for earlier, later in [(before, after), (after, without)]:
        assert all_below(later, earlier, "entropy")
        assert all_below(later, earlier, "effective-keys")
        assert all_below(earlier, later, "largest-probability")
    # What the first layer is given is the same, and variances are multiplied by the square of the factor.
    for one, other in zip(findings(after, "row-variance"), findings(without, "row-variance"), strict=True):
        if one in after.layers[0].findings:
            assert other.estimate == pytest.approx(D * (one.estimate or 0), rel=1e-5)


def test_a_gate_on_too_few_sequences_and_on_a_trained_model(model: Lookup) -> None:
    """Sixteen sequences cannot decide, and it is said how many would; a trained model fails."""
    few = audited(model, 16, (GATE,))
    assert few.exit_status == 3
    undecided = [one for one in findings(few, "row-variance") if one.judgement is Judgement.UNDECIDED]
    assert undecided
    assert all((one.sequences_needed or 0) > 16 and one.reason for one in undecided)
    retrieval.trained(model, STEPS)
    refuted = audited(model, 256, (GATE,))
    assert refuted.exit_status == 1
    assert judgements(refuted, "row-variance") == {Judgement.REFUTED}
    assert judgements(refuted, "scale-implied") == {Judgement.CONFIRMED}


def ran(tool: Callable[..., Ended], status: int, *arguments: object) -> Ended:
    """Run the tool in this process, and see that it ends as it should."""
    ended = tool(*arguments)
    assert (ended.status, "Traceback" in ended.err) == (status, False), ended
    return ended


def test_the_session_on_the_command_line(
    tool: Callable[..., Ended], model: Lookup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program is recorded unchanged; evidence, pages, quotations, badge and JUnit agree."""
    monkeypatch.chdir(tmp_path)
    torch.save(model.state_dict(), "before.pt")
    retrieval.trained(model, STEPS)
    torch.save(model.state_dict(), "after.pt")
    program = retrieval.__file__

    ran(tool, 0, "record", "--max-sequences", 16, "--out", "few", program, "before.pt")
    undecided = ran(tool, 3, "audit", "few", "--gate", GATE, "--no-pages", "--out", "few-audit")
    assert "sequences to decide" in undecided.out
    recorded = ran(tool, 0, "record", "--max-sequences", 256, "--out", "before", program, "before.pt")
    assert recorded.out.startswith("loss 2.")
    assert "`sdpa-verify audit before`" in recorded.err
    before = ran(tool, 0, "audit", "before", "--gate", GATE, "--no-pages", "--out", "before-audit")
    assert before.out.startswith("confirmed: 2 layers, 8 heads: ")
    ran(tool, 0, "record", "--out", "part", program, "after.pt")
    unseen = ran(tool, 3, "audit", "part", "--no-pages", "--out", "part-audit")
    assert "calls had sequences after the first 200, which were left out" in unseen.out
    ran(tool, 0, "record", "--max-sequences", 256, "--out", "after", program, "after.pt")
    after = ran(tool, 0, "audit", "after", "--no-pages", "--out", "after-audit")
    assert after.out.startswith("confirmed: 2 layers, 8 heads: ")

    ran(tool, 0, "record", "--out", "without", program, "after.pt", "1.0")
    without = ran(tool, 1, "audit", "without", "--out", "audit", "--junit", "junit.xml")
    wrong = without.out.splitlines()[0]
    assert wrong.startswith("✗ all 2 layers, all 4 heads: scale-applied, scale-implied refuted: ")
    assert wrong.endswith("; ".join(NAMED))
    record = load(tmp_path / "audit" / "audit.json")
    assert isinstance(record, AuditRecord)
    refuted = [one for one in record.findings if one.judgement is Judgement.REFUTED]
    assert (tmp_path / "junit.xml").read_text("utf-8").count("<failure") == len(refuted)

    pages = {name: (tmp_path / "audit" / name).read_bytes() for name in ("audit.html", "audit.pdf")}
    assert f"divide by √{D}" in pages["audit.html"].decode()
    ran(tool, 1, "render", "audit/audit.json", "--out", "again")
    assert (tmp_path / "again" / "audit.html").read_bytes() == pages["audit.html"]
    badged(tool, tmp_path)
    quoted(tool, tmp_path / "note.md")


def badged(tool: Callable[..., Ended], folder: Path) -> None:
    """Make badges of the audits that passes and of the one that fails."""
    for results, message in [("after-audit", "confirmed"), ("audit", "refuted")]:
        ran(tool, 0, "badge", "audit", "--results", f"{results}/audit.json")
        endpoint = json.loads((folder / "attention-audit.json").read_text("utf-8"))
        assert endpoint["message"] == message


def quoted(tool: Callable[..., Ended], note: Path) -> None:
    """Quote an entropy in a document, which is so after training, and no longer without the scale."""
    after, without = (("--results", f"{name}/audit.json") for name in ("after-audit", "audit"))
    key = f"{LAYERS[0]}.entropy-head-0:estimate"
    (listed,) = ran(tool, 0, "values", key, *after).out.splitlines()
    value = listed.removeprefix(key).strip()
    note.write_text(f"The entropy is <!-- verify: {key}|default -->{value}<!-- /verify -->.\n")
    ran(tool, 0, "check-docs", note, *after)
    stale = ran(tool, 1, "check-docs", note, *without)
    assert value in stale.out
    ran(tool, 0, "check-docs", "--write", note, *without)
    assert value not in note.read_text()
