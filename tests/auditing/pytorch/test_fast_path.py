"""The fused kernels of layers in evaluation."""

from __future__ import annotations

import warnings

import pytest

import verify
from tests.auditing.pytorch.recorded import only, torch


@pytest.mark.parametrize("norm_first", [True, False])
def test_the_fast_path_stays_and_is_seen(norm_first: bool) -> None:
    """The fused kernel still runs, with padding too; queries and keys are those of the slow path."""
    layer = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=norm_first)
    model = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=not norm_first).eval()
    x = torch.randn(2, 5, 16)
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's own, that nested tensors are a prototype
        wanted = model(x), model(x, src_key_padding_mask=padding)
        with verify.record(model) as recording:
            got = model(x), model(x, src_key_padding_mask=padding)
        with torch.enable_grad(), verify.record(model) as slow:
            model(x), model(x, src_key_padding_mask=padding)
    for one, other in zip(wanted, got, strict=True):
        assert torch.equal(one, other)
    assert [layer.name for layer in recording.layers] == ["layers.0.self_attn", "layers.1.self_attn"]
    assert recording.layers[0].backend == "_transformer_encoder_layer_fwd"
    assert "its output is not seen" in recording.layers[0].notes[0]
    for fast, plain in zip(recording.layers[0].calls, slow.layers[0].calls, strict=True):
        real = torch.ones(5, dtype=torch.bool) if plain.mask is None else plain.mask[:, 0, 0, :]
        for name in ("query", "key", "value"):
            one, other = (getattr(call, name).transpose(1, 2) for call in (fast, plain))
            assert torch.allclose(one[real.expand(2, 5)], other[real.expand(2, 5)], atol=1e-5)
        if plain.mask is not None:
            assert torch.equal(fast.mask, plain.mask[:, :1])


def test_the_fused_multi_head_attention_is_seen() -> None:
    """``nn.MultiheadAttention`` in evaluation has a kernel of its own, with three kinds of masks."""
    layer = torch.nn.MultiheadAttention(16, 4, batch_first=True).eval()
    x = torch.randn(2, 5, 16)
    causal = torch.ones(5, 5, dtype=torch.bool).triu(1)
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    for options, seen in [
        ({}, None),
        ({"attn_mask": causal}, ~causal.expand(2, 4, 5, 5)),
        ({"key_padding_mask": padding}, ~padding[:, None, None, :]),
    ]:
        with torch.no_grad():
            wanted = layer(x, x, x, **options)[0]
            with verify.record(layer) as recording:
                got = layer(x, x, x, **options)[0]
        assert torch.equal(wanted, got)
        call = only(recording)
        assert recording.layers[0].backend == "_native_multi_head_attention"
        assert (call.mask is None and seen is None) or torch.equal(*torch.broadcast_tensors(call.mask, seen))
