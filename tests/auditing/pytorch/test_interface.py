"""Models of transformers are recorded by whichever kernel, with the scale that they were meant to have."""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Any

import pytest

import verify
from tests.auditing.pytorch.architectures import ARCHITECTURES, OUTSIDE, build, inputs
from verify.errors import RecordingError

torch = pytest.importorskip("torch", reason="needs the extra [transformers]")
transformers = pytest.importorskip("transformers", reason="needs the extra [transformers]")

from tests.auditing.pytorch.recorded import deviation  # noqa: E402 - it needs PyTorch

if TYPE_CHECKING:
    from verify.auditing.recording import Recording

FEW = ["llama", "gemma2", "gpt_oss", "deepseek_v3", "t5", "opt", "falcon"]


def value(expression: str, d: int) -> float:
    """Return the value of an intended scale."""
    return float(eval(expression, {"__builtins__": {}, "d": d, "sqrt": math.sqrt}))  # noqa: S307 - ours


def recorded(name: str, kind: str, dtype: Any) -> Recording:
    """Record a model, whose results stay."""
    model, given = build(name, kind).to(dtype), inputs(name, dtype=dtype)
    with torch.no_grad():
        wanted = model(**given)[0]
        with verify.record(model) as recording:
            got = model(**given)[0]
    assert torch.equal(wanted, got)
    assert not recording.left_out
    return recording


def check(name: str, recording: Recording) -> int:
    """Check that outputs follow from the calls and scales are the intended ones; return how many layers."""
    for layer in recording.layers:
        for call in layer.calls:
            d = call.query.shape[-1]
            usual = d**-0.5
            meant = usual if layer.intended is None else value(layer.intended.expression, d)
            if layer.name != "head.attention":
                assert meant == pytest.approx(ARCHITECTURES[name].intended(d), rel=1e-12)
            assert (usual if call.scale is None else call.scale) == pytest.approx(meant, rel=1e-12)
            assert deviation(call) < 1e-6
    return len(recording.layers)


def verdicts(record: verify.AuditRecord) -> set[str]:
    """Return what an audit says of its exact findings; each head has the three that outputs allow."""
    found = [one for one in record.findings if one.exact]
    assert {one.kind for one in found} >= {"scale-implied", "reconstruction", "overflow"}
    return {str(one.judgement) for one in found}


@pytest.mark.parametrize("name", FEW)
def test_a_few_architectures(name: str) -> None:
    """Grouped heads, soft-cap, sinks, latent attention, no scale, a scale before the call, ALiBi."""
    assert check(name, recorded(name, ARCHITECTURES[name].kinds[0], torch.float32)) >= 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name, one in ARCHITECTURES.items() for kind in one.kinds]
)
def test_every_architecture(name: str, kind: str) -> None:
    """At least thirty, by each of their kernels: all exact findings pass with the intention of the model.

    In bfloat16 rounding may leave a scale undecided, but refutes none.
    """
    assert len(ARCHITECTURES) >= 30
    recording = recorded(name, kind, torch.float32)
    assert check(name, recording) >= 2
    assert verdicts(verify.audit(recording, workers=1)) == {"confirmed"}
    halved = verify.audit(recorded(name, kind, torch.bfloat16), workers=1)
    assert verdicts(halved) <= {"confirmed", "undecided"}
    assert {layer.dtype for layer in halved.layers} == {"bfloat16"}


@pytest.mark.parametrize(
    "name", ["bloom", *(pytest.param(one, marks=pytest.mark.slow) for one in OUTSIDE if one != "bloom")]
)
def test_models_outside_the_interface_are_named(name: str) -> None:
    """They write their attention out."""
    model, given = build(name, "eager"), inputs(name)
    with (
        pytest.raises(RecordingError, match=r"attention.*: a softmax, or scores times values, outside any"),
        verify.record(model),
    ):
        model(**given)


def test_generation_is_recorded_once() -> None:
    """The steps after the prompt are of the same sequences."""
    model = transformers.LlamaForCausalLM(build("llama", "sdpa").config).eval()
    with verify.record(model) as recording:
        model.generate(torch.randint(3, 64, (2, 5)), max_new_tokens=4, do_sample=False, pad_token_id=0)
    for layer in recording.layers:
        assert [call.query.shape[2] for call in layer.calls] == [5]
        assert layer.notes == (
            "continued sequences that were seen before, as generation does, and were left out (3 calls)",
        )


def test_a_scale_that_the_kernel_is_not_given_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """What PyTorch's attention was given counts, not what the model asked its interface for."""
    model, given = build("granite", "sdpa"), inputs("granite")
    original = transformers.AttentionInterface._global_mapping["sdpa"]
    monkeypatch.setitem(
        transformers.AttentionInterface._global_mapping,
        "sdpa",
        lambda *args, **options: original(*args, **options | {"scaling": None}),
    )
    with verify.record(model) as recording, torch.no_grad():
        model(**given)
    (call,) = recording.layers[0].calls
    assert call.scale is None
    assert recording.layers[0].intended is not None
    assert recording.layers[0].intended.expression == "0.0625"


def test_the_interface_is_as_it_was_afterwards() -> None:
    """Also where a model fails."""
    kind = transformers.AttentionInterface
    before = kind.__getitem__, kind.get_interface
    model = build("llama", "eager")
    with contextlib.suppress(ZeroDivisionError), verify.record(model):
        model(**inputs("llama"))
        assert not 1 // 0
    assert (kind.__getitem__, kind.get_interface) == before
    assert "__getitem__" not in vars(kind)
