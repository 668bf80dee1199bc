"""The fused kernels behind ``nn.MultiheadAttention`` and ``nn.TransformerEncoderLayer`` in evaluation.

They take a layer's input and give back its output, so that queries and keys are computed from the input
by the layer's own weights once more, as the kernel does; what comes out of its softmax is not seen.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch.nn import functional

from verify.auditing.pytorch.calls import refuse_other
from verify.auditing.pytorch.recorder import About
from verify.auditing.recording import Call

_NOTE = "a fused kernel ran: q, k and v were computed once more from its input, and its output is not seen"


class _Projection(NamedTuple):
    """Weights and biases of queries, keys and values, stacked."""

    heads: int
    weight: Any
    bias: Any


def native_call(
    query: Any,
    key: Any,
    value: Any,
    embed_dim: int,
    num_head: int,
    qkv_weight: Any,
    qkv_bias: Any,
    _proj_weight: Any,
    _proj_bias: Any,
    mask: Any = None,
    _need_weights: bool = True,
    _average: bool = True,
    mask_type: int | None = None,
) -> tuple[Call, About]:
    """Return the call behind ``torch._native_multi_head_attention``, whose parameters these are."""
    projection = _Projection(num_head, qkv_weight, qkv_bias)
    call = _projected((query, key, value), projection, mask, mask_type)
    return call, About(backend="_native_multi_head_attention", width=embed_dim, notes=(_NOTE,))


def encoder_layer_call(
    src: Any,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Any,
    qkv_bias: Any,
    _proj_weight: Any,
    _proj_bias: Any,
    _use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight: Any,
    norm_bias: Any,
    *others: Any,
) -> tuple[Call, About]:
    """Return the call behind ``torch._transformer_encoder_layer_fwd``, whose parameters these are."""
    mask, mask_type = others[6:8]
    if norm_first:
        src = functional.layer_norm(src, (embed_dim,), norm_weight, norm_bias, eps)
    call = _projected((src, src, src), _Projection(num_heads, qkv_weight, qkv_bias), mask, mask_type)
    return call, About(backend="_transformer_encoder_layer_fwd", width=embed_dim, notes=(_NOTE,))


def _projected(
    inputs: tuple[Any, Any, Any], projection: _Projection, mask: Any, mask_type: int | None
) -> Call:
    """Return the call of a layer with these inputs, [sequence, token, width], nested where lengths differ."""
    seen = None if mask is None else _seen(mask, mask_type)
    if inputs[1].is_nested:
        lengths = torch.tensor([one.shape[0] for one in inputs[1].unbind()], device=inputs[1].device)
        seen = (torch.arange(int(lengths.max()), device=lengths.device) < lengths[:, None])[:, None, None, :]
        inputs = tuple(torch.nested.to_padded_tensor(one, 0.0) for one in inputs)
    refuse_other(*inputs)
    biases = (None,) * 3 if projection.bias is None else projection.bias.chunk(3)
    weights = projection.weight.chunk(3)
    query, key, value = (
        functional.linear(one, weight, bias).unflatten(-1, (projection.heads, -1)).transpose(1, 2)
        for one, weight, bias in zip(inputs, weights, biases, strict=True)
    )
    return Call(query, key, value, mask=seen)


def _seen(mask: Any, mask_type: int | None) -> Any:
    """Return which keys may be seen; a mask of type 1 is [sequence, key], others have the scores' axes."""
    hidden = mask if mask.dtype == torch.bool else mask != 0
    if mask_type == 1:
        hidden = hidden[:, None, None, :]
    return ~hidden
