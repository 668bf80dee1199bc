"""A monitor looks at some passes of a training loop and keeps numbers, not arrays."""

import contextlib
import math
from typing import Any

import pytest

import verify
from verify.errors import RecordingError, SettingsError
from verify.evidence.audits import Judgement

torch = pytest.importorskip("torch", reason="needs the extra [torch]")
training = pytest.importorskip("tests.auditing.training")
functional = torch.nn.functional


class Scaled(torch.nn.Module):  # type: ignore[misc, name-defined]  # PyTorch is not checked
    """Attention whose scale can be changed while it runs."""

    def __init__(self) -> None:
        super().__init__()
        self.project = torch.nn.Linear(16, 48)
        self.scale: float | None = None

    def forward(self, x: Any) -> Any:
        """Attend with two heads."""
        query, key, value = (
            one.unflatten(-1, (2, 8)).transpose(1, 2) for one in self.project(x).chunk(3, -1)
        )
        return functional.scaled_dot_product_attention(query, key, value, scale=self.scale)


def trained(monitor: verify.AttentionMonitor, model: Any, passes: int) -> list[float]:
    """Return the losses of some steps of training."""
    torch.manual_seed(1)
    steps = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(passes):
        with monitor:
            loss = model(torch.randn(6, 12, 16)).square().mean()
            steps.zero_grad()
            loss.backward()
            steps.step()
        losses.append(loss.item())
    return losses


def test_a_training_loop() -> None:
    """Every third pass is looked at; training is the same to the last bit, and a changed scale is named."""
    torch.manual_seed(0)
    model = Scaled()
    torch.manual_seed(0)
    other = Scaled()
    monitor = verify.AttentionMonitor(model, every=3, max_sequences=4)
    never = verify.AttentionMonitor(every=10**9)
    with contextlib.suppress(RecordingError), never:
        pass
    assert trained(monitor, model, 7) == trained(never, other, 7)
    assert repr(monitor) == "AttentionMonitor(passes=7, looks=3, alarms=0)"
    assert monitor.last is not None
    assert monitor.last.layers[0].sequences == 4
    assert monitor.last.settings.false_alarm == pytest.approx(1e-3 * 6 / (3 * math.pi) ** 2)
    model.scale = 1.0
    trained(monitor, model, 3)
    wrong = [one for one in monitor.alarms if one.finding.startswith("scale-applied")]
    assert {(one.step, one.layer, one.judgement) for one in wrong} == {(9, "Scaled", Judgement.REFUTED)}
    assert {one.step for one in monitor.alarms} == {9}


@pytest.mark.slow
def test_a_gate_fires_where_training_diverges() -> None:
    """In the example logits double with every step from the tenth on: module, cause and mend are named."""
    told = training.blow_up(passes=18, begins=10)
    assert told.alarms
    assert min(one.step for one in told.alarms) > 10
    (first, *_) = (one for one in told.alarms if one.finding.startswith("entropy"))
    assert (first.layer, first.judgement) == ("blocks.1.attention", Judgement.WARNED)
    assert first.cause.startswith("rows have come to see few keys: ")
    assert "normalise queries and keys" in first.fix


def test_a_pass_that_fails_is_not_looked_at() -> None:
    """Its exception passes, and the next look comes when it is due."""
    model = Scaled()
    monitor = verify.AttentionMonitor(model, every=2)
    with contextlib.suppress(ZeroDivisionError), monitor:
        model(torch.randn(6, 12, 16))
        assert not 1 // 0
    assert repr(monitor) == "AttentionMonitor(passes=1, looks=0, alarms=0)"
    trained(monitor, model, 2)
    assert repr(monitor) == "AttentionMonitor(passes=3, looks=1, alarms=0)"


def test_wrong_settings_and_names() -> None:
    """One line says what and how to fix it."""
    for every in (0, True, 2.5):
        with pytest.raises(SettingsError, match=r"every .*: give a whole number of at least 1"):
            verify.AttentionMonitor(every=every)  # type: ignore[arg-type]
    with pytest.raises(RecordingError, match="no attention call was seen"), verify.AttentionMonitor():
        pass
