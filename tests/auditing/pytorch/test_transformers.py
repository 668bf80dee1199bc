"""Models of transformers are recorded by whichever kernel, with the scale that they were meant to have."""

import contextlib
import math
from types import SimpleNamespace
from typing import Any

import pytest

import verify
from tests.auditing.architectures import ARCHITECTURES, OUTSIDE, build, inputs
from tests.auditing.calls import deviation
from verify.auditing.scales import scale_expression
from verify.errors import RecordingError
from verify.evidence.audits import Judgement

torch = pytest.importorskip("torch", reason="needs the extra [transformers]")
transformers = pytest.importorskip("transformers", reason="needs the extra [transformers]")

from verify.auditing.pytorch.calls import intention  # noqa: E402

FEW = ["Llama", "Gemma2", "GptOss", "DeepseekV3", "T5", "OPT", "Falcon"]
"""Grouped heads, soft-cap, sinks, latent attention, no scale, a scale before the call, ALiBi."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in FEW else [pytest.mark.slow]) for name in ARCHITECTURES]
)
def test_every_architecture(name: str) -> None:
    """By each of its kernels outputs follow from the calls, scales are as intended, and its audit passes.

    In bfloat16 rounding may leave a scale undecided, but refutes none. In both, kernels do not differ.
    """
    assert [model.kinds for model in ARCHITECTURES.values()].count(("eager", "sdpa")) >= 40
    singles: list[Any] = []
    halves: list[Any] = []
    for kind in ARCHITECTURES[name].kinds:
        for dtype, recordings in ((torch.float32, singles), (torch.bfloat16, halves)):
            model = build(ARCHITECTURES[name], kind).to(dtype)
            arguments = inputs(ARCHITECTURES[name], dtype=dtype)
            with torch.no_grad():
                wanted = model(**arguments)[0]
                # In single precision with what modules are given, which is compared then too.
                with verify.record(model, inputs=dtype == torch.float32) as recording:
                    assert torch.equal(wanted, model(**arguments)[0])
            assert not recording.left_out
            recordings.append(recording)
    for recording in singles:
        calls = [(layer, call) for layer in recording.layers for call in layer.calls]
        assert len(calls) >= 2
        for layer, call in calls:
            d = call.query.shape[-1]
            given, meant = (d**-0.5 if call.scale is None else call.scale), d**-0.5
            if layer.intended is not None:
                meant = scale_expression(layer.intended.expression).value(d=d)
            if layer.name != "head.attention":
                assert meant == pytest.approx(ARCHITECTURES[name].scale or d**-0.5, rel=1e-12)
            assert given == pytest.approx(meant, rel=1e-12)
            assert deviation(call) < 1e-6
    record, halved = verify.audit(singles[-1]), verify.audit(halves[-1])
    for audit, said in ((record, {"confirmed"}), (halved, {"confirmed", "undecided"})):
        assert {part.kind for part in audit.findings} >= {"scale", "formula", "overflow"}
        assert {str(part.judgement) for part in audit.findings} <= said
    assert {layer.dtype for layer in halved.layers} == {"bfloat16"}
    for recordings in (singles, halves):
        compared = verify.compare_recordings(recordings[0], recordings[-1])
        assert (str(compared), compared.exit_status) == (str(compared), 0)


def test_models_outside_the_interface_are_named() -> None:
    """They write their attention out."""
    model, given = build(OUTSIDE, "eager"), inputs(OUTSIDE)
    with (
        pytest.raises(RecordingError, match=r"attention.*: ran, and no attention call in it was seen"),
        verify.record(model),
    ):
        model(**given)


def test_generation_is_recorded_once() -> None:
    """The steps after the prompt are of the same sequences."""
    model = transformers.LlamaForCausalLM(build(ARCHITECTURES["Llama"], "sdpa").config).eval()
    with verify.record(model) as recording:
        model.generate(torch.randint(3, 64, (2, 5)), max_new_tokens=4, do_sample=False, pad_token_id=0)
    for layer in recording.layers:
        assert [call.query.shape[2] for call in layer.calls] == [5, 1, 1, 1]


def test_a_scale_that_the_kernel_is_not_given_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """What PyTorch's attention was given counts, not what the model asked its interface for."""
    model, given = build(ARCHITECTURES["Granite"], "sdpa"), inputs(ARCHITECTURES["Granite"])
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
    with contextlib.suppress(ZeroDivisionError), verify.record():
        build(ARCHITECTURES["Llama"], "eager")(**inputs(ARCHITECTURES["Llama"]))
        assert not 1 // 0
    assert (kind.__getitem__, kind.get_interface) == before
    assert "__getitem__" not in vars(kind)


YARN = {"rope_type": "yarn", "mscale_all_dim": 1.0, "factor": 4.0}
LATENT = {"kv_lora_rank": 8, "rope_parameters": YARN}
OLDER = {"type": "yarn", "mscale_all_dim": 1, "factor": 1}
WEAK, SHORTER = YARN | {"mscale_all_dim": 0.707, "factor": 40.0}, YARN | {"factor": 0.5}
D = 192


@pytest.mark.parametrize(
    ("module", "options", "scale"),
    [
        ("any", {}, None),
        ("any", {"attention_multiplier": True}, None),
        ("any", {"scale_attn_weights": False}, 1),
        ("any", {"scale_attn_by_inverse_layer_idx": True}, D**-0.5 / 3),
        # m²/√d with m = 0.1·share·ln(factor) + 1, as published for DeepSeek's models; 1/√d where it shortens.
        ("any", LATENT | {"rope_parameters": WEAK}, (0.0707 * math.log(40) + 1) ** 2 * D**-0.5),
        ("any", {"kv_lora_rank": 8, "rope_scaling": OLDER}, D**-0.5),
        ("any", LATENT | {"rope_parameters": SHORTER}, D**-0.5),
        ("any", LATENT | {"rope_parameters": {"rope_type": "yarn", "factor": 4.0}}, None),
        ("any", {"rope_parameters": YARN}, None),
        ("transformers.models.zamba2.modeling_zamba2", {}, (D / 2) ** -0.5),
        ("transformers.models.llama.modeling_llama", {}, None),
        ("my.models.t5", {}, None),
    ],
)
def test_what_a_configuration_or_a_family_says(
    module: str, options: dict[str, Any], scale: float | None
) -> None:
    """A number under a known name or a family of its own, else nothing, which stands for 1/√d.

    A user's own class is of no family, although it is called so.
    """
    layer = type("T5Attention", (), {"__module__": module, "layer_idx": 2})()
    intended = intention(layer, SimpleNamespace(**options))
    assert (intended is None) == (scale is None)
    if intended is not None:
        assert intended.origin == "configuration"
        assert (module.split(".")[2] if "." in module else "SimpleNamespace") in intended.where
        assert scale_expression(intended.expression).value(d=D) == pytest.approx(scale)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        *(("Llama", fault) for fault in ("", "applied twice", "mask", "grouped heads are tiled")),
        *(("Gemma2", fault) for fault in ("", "1/√d_k", "soft-cap")),
    ],
)
def test_a_fault_in_a_model_is_caught_and_named(name: str, fault: str) -> None:
    """The model runs unchanged, with a backend of its own, step by step; without a fault all is confirmed."""

    def attend(_module: Any, q: Any, k: Any, v: Any, mask: Any, scaling: float = 1.0, **options: Any) -> Any:
        groups, cap, root = q.shape[1] // k.shape[1], options.get("softcap"), q.shape[-1] ** -0.5
        if fault == "grouped heads are tiled":
            k, v = (x.repeat(1, groups, 1, 1) for x in (k, v))
        else:
            k, v = (x.repeat_interleave(groups, 1) for x in (k, v))
        scale = {"applied twice": scaling * root, "1/√d_k": root}.get(fault, scaling)
        scores = scale * q @ k.mT
        scores = scores if cap is None or fault == "soft-cap" else cap * torch.tanh(scores / cap)
        scores = scores if fault == "mask" else scores + mask[..., : k.shape[2]]
        return (scores.softmax(-1) @ v).transpose(1, 2).contiguous(), None

    transformers.AttentionInterface.register("planted", attend)
    transformers.AttentionMaskInterface.register("planted", transformers.masking_utils.eager_mask)
    model = build(ARCHITECTURES[name], "planted")
    with torch.no_grad(), verify.record(model) as recording:
        model(**inputs(ARCHITECTURES[name], tokens=48))
    record = verify.audit(recording)
    assert record.exit_status == bool(fault), str(record)
    refuted = [part for part in record.findings if part.judgement is Judgement.REFUTED]
    assert any(fault in part.cause for part in refuted) == bool(fault), str(record)
