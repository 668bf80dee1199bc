"""What happens inside PyTorch's attention of several heads."""

from __future__ import annotations

from typing import Any

import pytest

import verify
from tests.auditing.pytorch.recorded import deviation, only, torch


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("masked", [True, False])
def test_multi_head_attention_in_training(need_weights: bool, masked: bool) -> None:
    """Its calls are seen whether weights are wanted, which it computes itself, or not."""
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
    call = only(recording)
    assert recording.layers[0].name == "MultiheadAttention"
    assert recording.layers[0].width == 16
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
