"""Calls of PyTorch as an audit has them: their axes, masks, fused kernels, factors before the call."""

import importlib
import math
import warnings
from typing import Any

import pytest

import verify
from tests.auditing.pytorch.recorded import attention, deviation, only, torch
from verify.errors import RecordingError

functional = torch.nn.functional
LATER = torch.ones(6, 6, dtype=torch.bool).triu(1)
BIAS = torch.randn(6, 6)


@pytest.mark.parametrize(
    ("options", "mask", "bias"),
    [
        ({}, None, None),
        ({"is_causal": True}, None, None),
        ({"scale": 0.1}, None, None),
        ({"attn_mask": ~LATER}, ~LATER, None),
        ({"attn_mask": BIAS.expand(2, 1, 6, 6)}, None, BIAS),
        ({"attn_mask": torch.zeros(6, 6).masked_fill(LATER, -math.inf)}, ~LATER, None),
        ({"attn_mask": torch.zeros(6, 6).masked_fill(LATER, -3.4e38)}, ~LATER, None),
        ({"attn_mask": BIAS.masked_fill(LATER, -math.inf)}, ~LATER, BIAS.tril()),
        ({"attn_mask": torch.zeros(1, 1, 1, 6).expand(2, 4, 6, 6)}, None, None),
    ],
)
def test_arguments_as_they_are_given(options: dict[str, Any], mask: Any, bias: Any) -> None:
    """The output follows from what is recorded, and is the one the program had.

    What hides keys is a mask, what is left a bias, and an axis that is repeated is kept once.
    """
    attend = attention()
    wanted = attend(**options)
    with verify.record() as recording:
        got = attend(**options)
    assert torch.equal(wanted, got)
    call = only(recording)
    assert torch.equal(call.output, wanted)
    assert call.scale == options.get("scale")
    assert call.causal == options.get("is_causal", False)
    pairs: Any = ((call.mask, mask), (call.bias, bias))
    for recorded, exact in pairs:
        assert (recorded is None) == (exact is None)
        assert exact is None or torch.equal(recorded.squeeze(), exact)
    assert deviation(call) < 1e-6


def test_grouped_heads_and_other_ranks() -> None:
    """Keys keep their own number of heads; what has fewer axes has one sequence."""
    query, key = torch.randn(2, 6, 5, 8), torch.randn(2, 3, 5, 8)
    with verify.record() as recording:
        functional.scaled_dot_product_attention(query, key, key, enable_gqa=True)
    assert tuple(only(recording).key.shape) == (2, 3, 5, 8)
    assert deviation(only(recording)) < 1e-6
    for shape, wanted in [((6, 8), (1, 1, 6, 8)), ((3, 6, 8), (1, 3, 6, 8))]:
        with verify.record() as recording:
            attention(*shape)()
        assert tuple(only(recording).query.shape) == wanted
        assert deviation(only(recording)) < 1e-6


def test_what_the_kernel_computes_in_under_autocast() -> None:
    """The dtype is the output's, not the one that the arguments have before the kernel."""
    with verify.record() as recording, torch.autocast("cpu", torch.bfloat16):
        attention()()
    call = only(recording)
    assert call.query.dtype == getattr(call.output, "dtype", None) == torch.bfloat16


def test_tensors_without_plain_numbers_are_named() -> None:
    """On the meta device there is nothing to record; the program goes on."""
    with (
        pytest.raises(RecordingError, match=r"could not be recorded .*has no plain numbers"),
        verify.record(),
    ):
        functional.scaled_dot_product_attention(*(torch.randn(1, 2, 4, 8, device="meta") for _ in range(3)))


@pytest.mark.parametrize("norm_first", [True, False])
def test_layers_of_pytorch_in_evaluation_are_judged(norm_first: bool) -> None:
    """The slow path computes them while they are recorded, which is said; with padding and masks too."""
    layer = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=norm_first)
    model = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=not norm_first).eval()
    x = torch.randn(2, 5, 16)
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's own, that nested tensors are a prototype
        wanted = model(x), model(x, src_key_padding_mask=padding)
        with verify.record(model) as recording:
            got = model(x), model(x, src_key_padding_mask=padding)
            model.layers[0].self_attn(x, x, x, attn_mask=torch.ones(5, 5, dtype=torch.bool).triu(1))
    for plain, seen in zip(wanted, got, strict=True):
        assert torch.allclose(plain[~padding], seen[~padding], atol=1e-5)
    assert [layer.name for layer in recording.layers] == ["layers.0.self_attn", "layers.1.self_attn"]
    assert [len(list(layer.calls)) for layer in recording.layers] == [3, 2]
    assert all("fast path is off while recording" in layer.notes[0] for layer in recording.layers)
    record = verify.audit(recording)
    assert record.exit_status == 0
    assert {str(finding.judgement) for finding in record.findings} == {"confirmed"}


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("masked", [True, False])
def test_multi_head_attention_in_training(need_weights: bool, masked: bool) -> None:
    """Its calls are seen whether weights are wanted, or not; there is no fast path."""
    layer = torch.nn.MultiheadAttention(16, 4, batch_first=True)
    x = torch.randn(3, 5, 16)
    options: dict[str, Any] = {"need_weights": need_weights}
    if masked:
        options["attn_mask"] = torch.ones(5, 5, dtype=torch.bool).triu(1)
        options["key_padding_mask"] = torch.tensor([[False] * 5, [False] * 3 + [True] * 2, [False] * 5])
    wanted, weights = layer(x, x, x, **options)
    with verify.record(layer) as recording:
        got, same = layer(x, x, x, **options)
        got.sum().backward()
    assert torch.equal(wanted, got)
    assert need_weights is (same is not None and torch.equal(weights, same))
    assert layer.in_proj_weight.grad is not None
    call, (recorded,) = only(recording), recording.layers
    assert (recorded.name, recorded.width, recorded.notes) == ("MultiheadAttention", 16, ())
    assert tuple(call.query.shape) == (3, 4, 5, 4)
    assert (call.mask is not None) is masked
    assert deviation(call) < 1e-6
    assert call.scale == (0.5 if need_weights else None)


def test_dropout_goes_on_and_its_outputs_are_left_out() -> None:
    """The same numbers are drawn; an output with dropout says nothing of the scores."""
    model = torch.nn.TransformerEncoderLayer(16, 4, 32, dropout=0.5, batch_first=True)
    x = torch.randn(2, 5, 16)
    torch.manual_seed(2)
    wanted = model(x)
    torch.manual_seed(2)
    with verify.record(model) as recording:
        got = model(x)
    assert torch.equal(wanted, got)
    assert only(recording).output is None
    assert "dropout was on" in recording.layers[0].notes[0]


@pytest.mark.filterwarnings("ignore")  # the compiler gives several
def test_flex_attention_is_recorded_with_its_mask_evaluated() -> None:
    """Where a score function changes scores, that is said."""
    flex = importlib.import_module("torch.nn.attention.flex_attention")
    attend = flex.flex_attention
    q, k = torch.randn(2, 4, 130, 16), torch.randn(2, 2, 130, 16)
    mask = flex.create_block_mask(lambda _b, _h, i, j: i >= j, None, None, 130, 130, device="cpu")
    options = {"block_mask": mask, "enable_gqa": True}
    wanted = flex.flex_attention(q, k, k, **options)
    with verify.record() as recording:
        got = flex.flex_attention(q, k, k, **options)
        attention()()
        flex.flex_attention(q, k, k, score_mod=lambda s, *_: s * 0.5, **options)
    assert flex.flex_attention is attend
    assert torch.equal(wanted, got)
    (said,) = recording.left_out
    assert "its score function is not read" in said
    (call,) = recording.layers[0].calls
    assert deviation(call) < 1e-6
    assert call.mask is not None
    assert torch.equal(call.mask[0, 0], torch.ones(130, 130).tril().bool())
    assert {str(part.judgement) for part in verify.audit(recording).findings} == {"confirmed"}
