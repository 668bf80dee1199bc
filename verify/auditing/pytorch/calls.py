"""Calls of PyTorch's attention, in the arrangement of axes that an audit has."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from verify.auditing.recording import Call

if TYPE_CHECKING:
    from verify.auditing.pytorch.masks import Masks

DROPPED = "dropout was on, so that outputs are not those of the scores alone; they were left out"


Given = tuple[tuple[Any, ...], dict[str, Any]]
"""Arguments by position and by name."""


class Arguments(NamedTuple):
    """What ``scaled_dot_product_attention`` was given, under the names of its parameters."""

    query: Any
    key: Any
    value: Any
    attn_mask: Any = None
    dropout_p: float = 0.0
    is_causal: bool = False
    scale: float | None = None
    enable_gqa: bool = False


def is_plain(tensor: Any) -> bool:
    """Return whether a tensor holds its numbers itself: none of a subclass, nested, or transformed."""
    is_own = type(tensor) in {torch.Tensor, torch.nn.Parameter} and tensor.layout == torch.strided
    inside = torch._C._functorch.is_functorch_wrapped_tensor(tensor)
    return is_own and not (tensor.is_nested or tensor.is_meta or inside)


def refuse_other(*tensors: Any) -> None:
    """Refuse tensors that have no plain content.

    Raises:
        ValueError: one is nested, sharded, symbolic, or inside a transformation of functions.
    """
    for one in tensors:
        if not is_plain(one):
            raise ValueError(
                f"a {type(one).__name__} of layout {one.layout} on {one.device} has no plain numbers"
            )


def attention_call(given: Arguments, output: Any, masks: Masks) -> Call:
    """Return the call of ``scaled_dot_product_attention`` with these arguments and this output."""
    refuse_other(given.query, given.key, given.value, output)
    rank = given.query.dim()
    mask = given.attn_mask
    if mask is not None and rank > 4:
        mask = mask.expand(*given.query.shape[:-1], given.key.shape[-2])
    seen, bias = masks.split(mask)
    query = four(given.query)
    key, value = (_over(four(one), query.shape[0]) for one in (given.key, given.value))
    # Under autocast the kernel computes in another dtype than what it is given.
    query, key, value = (one.to(output.dtype) for one in (query, key, value))
    return Call(
        query=query,
        key=key,
        value=value,
        output=None if given.dropout_p > 0 else four(output),
        mask=four(seen) if rank > 4 else seen,
        bias=four(bias) if rank > 4 else bias,
        causal=bool(given.is_causal),
        scale=None if given.scale is None else float(given.scale),
    )


def unscaled(call: Call, factors: tuple[float, float]) -> Call:
    """Return a call whose scale holds the factors that queries and keys were multiplied by before it."""
    if factors == (1.0, 1.0):
        return call
    scale = call.query.shape[-1] ** -0.5 if call.scale is None else call.scale
    query, key = (
        (one / factor).requires_grad_(one.requires_grad)
        for one, factor in zip((call.query, call.key), factors, strict=True)
    )
    return replace(call, query=query, key=key, scale=scale * factors[0] * factors[1])


def said(factors: tuple[float, float]) -> list[str]:
    """Return in words what queries and keys were multiplied by."""
    return [
        f"{name} were multiplied by {factor:.6g} before the call, which counts as part of its scale"
        for name, factor in zip(("queries", "keys"), factors, strict=True)
        if factor != 1
    ]


def four(tensor: Any) -> Any:
    """Return a tensor with the axes [sequence, head, token, d]: the last three are in PyTorch's order."""
    if tensor is None or tensor.dim() == 4:
        return tensor
    if tensor.dim() > 4:
        return tensor.flatten(0, -4)
    return tensor.reshape((1,) * (4 - tensor.dim()) + tuple(tensor.shape))


def _over(tensor: Any, sequences: int) -> Any:
    """Return keys or values for each sequence, where all share the same."""
    return tensor.expand(sequences, -1, -1, -1) if tensor.shape[0] == 1 else tensor
