"""Calls of PyTorch's attention in the arrangement of axes that an audit has, and what their masks say."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch

from verify.auditing.recording import Call

DROPPED = "dropout was on, so outputs are not those of the scores alone; they were left out"

HIDES = -3e4
"""What is added to a score to hide a key: -inf, or a number as low as half of float16's lowest.

exp(-3e4) is 0 in every dtype, so such keys take no part unless a row has no others.
"""


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


@contextmanager
def replaced(owner: Any, name: str, new: Any) -> Iterator[None]:
    """Put ``new`` in the place of an attribute, and what was there back afterwards."""
    had, before = name in vars(owner), vars(owner).get(name)
    setattr(owner, name, new)
    try:
        yield
    finally:
        setattr(owner, name, before) if had else delattr(owner, name)


def is_plain(tensor: Any) -> bool:
    """Return whether a tensor holds its own numbers: no subclass, not nested, not inside a transformation."""
    return (
        type(tensor) in {torch.Tensor, torch.nn.Parameter}
        and tensor.layout == torch.strided
        and not tensor.is_nested
        and not tensor.is_meta
        and not torch._C._functorch.is_functorch_wrapped_tensor(tensor)
    )


def refuse_other(*tensors: Any) -> None:
    """Raise a ValueError for tensors whose numbers cannot be read."""
    for tensor in tensors:
        if not is_plain(tensor):
            raise ValueError(f"a {type(tensor).__name__} has no plain numbers")


def split_mask(mask: Any, added: Any = None) -> tuple[Any, Any]:
    """Return what a mask and an ``added`` bias say: which keys are seen, and what is added to scores.

    Both are tensors that are broadcast to the scores, None where all keys are seen or nothing is added. An
    axis along which a mask is expanded has size 1.
    """
    seen = bias = None
    for given in (mask, added):
        if given is None:
            continue
        part = given.detach()
        for axis, (size, stride) in enumerate(zip(given.shape, given.stride(), strict=True)):
            part = part.narrow(axis, 0, 1) if size > 1 and stride == 0 else part
        shown = part if part.dtype == torch.bool else part > HIDES
        if not bool(shown.all()):
            seen = shown if seen is None else seen & shown
        if part.dtype != torch.bool:
            rest = part.masked_fill(~shown, 0)
            if bool((rest != 0).any()):
                bias = rest if bias is None else bias + rest
    return seen, bias


def attention_call(args: tuple[Any, ...], named: dict[str, Any], output: Any) -> Call:
    """Return the call of ``scaled_dot_product_attention`` with these arguments and this output."""
    given = Arguments(*args, **named)
    refuse_other(given.query, given.key, given.value, output)
    seen, bias = split_mask(given.attn_mask)
    # PyTorch may leave out the first axes of [sequence, head, token, d].
    query, key, value, output = (
        part.reshape((1,) * (4 - part.dim()) + tuple(part.shape)) for part in (*given[:3], output)
    )
    # Keys of one sequence may serve all; and under autocast the kernel computes in the output's type.
    key, value = (part.expand(len(query), -1, -1, -1) if len(part) == 1 else part for part in (key, value))
    query, key, value = (part.to(output.dtype) for part in (query, key, value))
    return Call(
        query=query,
        key=key,
        value=value,
        output=None if given.dropout_p > 0 else output,
        mask=seen,
        bias=bias,
        causal=bool(given.is_causal),
        scale=None if given.scale is None else float(given.scale),
    )


def block_mask_seen(block_mask: Any, query: Any, key: Any) -> Any:
    """Return which keys a block mask of flex attention shows, None where it is no such mask."""
    rule = getattr(block_mask, "mask_mod", None)
    if rule is None:
        return None
    sizes = (*query.shape[:3], key.shape[2])
    places = [torch.arange(size, device=query.device, dtype=torch.int) for size in sizes]
    # The rule is of single places, [sequence, head, query, key]: it is taken over one axis after the other.
    for axis in (3, 2, 1, 0):
        rule = torch.vmap(rule, in_dims=tuple(0 if axis == place else None for place in range(4)))
    return rule(*places)


def flex_call(
    output: Any,
    query: Any,
    key: Any,
    value: Any,
    score_mod: Any = None,
    block_mask: Any = None,
    scale: float | None = None,
    *_others: Any,
    **_named: Any,
) -> Call:
    """Return the call of ``flex_attention``.

    Raises:
        ValueError: a score function changes its scores, in ways that a call does not say.
    """
    if score_mod is not None:
        raise ValueError("its score function is not read")
    mask = block_mask_seen(block_mask, query, key)
    return attention_call((query, key, value, mask), {"scale": scale}, output)
