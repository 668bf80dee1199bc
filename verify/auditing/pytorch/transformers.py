"""Sees the attention calls of transformers' models, whichever kernel computes them."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from verify.auditing.pytorch import functions
from verify.auditing.pytorch.calls import (
    DROPPED,
    Arguments,
    LayerInfo,
    block_mask_seen,
    refuse_other,
    replaced,
    split_mask,
)
from verify.auditing.pytorch.intentions import layer_info
from verify.auditing.recording import Call

_MARK = "_records_attention"
_MASKED_ELSEWHERE = ("flash", "paged")  # kernels whose masks are no tensors over keys


@contextmanager
def standing_in() -> Iterator[Callable[[], None]]:
    """Let transformers' interface give attention functions that record, and go back afterwards.

    What is yielded does that once the program has imported transformers.
    """
    with ExitStack() as stack:
        is_attached = False

        def attach() -> None:
            nonlocal is_attached
            kind = getattr(sys.modules.get("transformers.modeling_utils"), "AttentionInterface", None)
            if is_attached or kind is None:
                return
            is_attached = True
            for name in ("__getitem__", "get_interface"):
                if (original := getattr(kind, name, None)) is not None:
                    stack.enter_context(replaced(kind, name, _lookup(original)))

        yield attach


def _lookup(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that finds what ``original`` finds, but recording."""

    @functools.wraps(original)
    def find(interface: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        attention = original(interface, name, *args, **kwargs)
        if functions.current() is None or not callable(attention) or hasattr(attention, _MARK):
            return attention
        return _recording(attention, str(name))

    return find


def _recording(attention: Callable[..., Any], backend: str) -> Callable[..., Any]:
    """Return an attention function of transformers that records what it is given and gives back."""

    @functools.wraps(attention)
    def attend(
        module: Any, query: Any, key: Any, value: Any, attention_mask: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        recorder = functions.current()
        if recorder is None or recorder.is_closed(module, query, key):
            return attention(module, query, key, value, attention_mask, *args, **kwargs)
        with functions.calls_inside() as inside:
            result = attention(module, query, key, value, attention_mask, *args, **kwargs)
        if any(word in backend for word in _MASKED_ELSEWHERE):
            recorder.leave_out(f"calls of {backend}, whose masks cannot be read, were not recorded")
            return result
        fits = len(inside) == 1 and inside[0][0].query.shape == query.shape
        given = Arguments(query, key, value, attention_mask, scale=kwargs.get("scaling"))

        def call(_module: Any) -> tuple[Call, LayerInfo]:
            return _call(module, given, inside[0][0] if fits else None, kwargs, result[0], backend)

        recorder.see(module, query, key, call)
        return result

    setattr(attend, _MARK, True)
    return attend


def _call(
    module: Any, given: Arguments, inner: Arguments | None, options: dict[str, Any], output: Any, backend: str
) -> tuple[Call, LayerInfo]:
    """Return the call, and what the module's configuration says of it.

    ``inner`` is what PyTorch's attention was given in turn, whose scale and mask are what counts. The output
    has shape [sequence, token, head, d], or its last two axes as one.
    """
    query, key, value = given[:3]
    refuse_other(query, key, value, output)
    if inner is not None:
        seen, bias = split_mask(inner.attn_mask)
    else:
        mask = given.attn_mask
        if not isinstance(mask, torch.Tensor | None):
            mask = block_mask_seen(mask, query, key)
        elif mask is not None and mask.dim() and mask.shape[-1] > key.shape[2] > 0:
            mask = mask[..., : key.shape[2]]  # some caches are longer than their content
        seen, bias = split_mask(mask, options.get("position_bias"))
    scale = (inner or given).scale
    sinks, dropout = options.get("s_aux"), bool(options.get("dropout"))
    dropping = dropout and (module.training or inner is not None)
    output = output.reshape(len(query), query.shape[2], query.shape[1], value.shape[-1])
    call = Call(
        query=query,
        key=key,
        value=value,
        output=None if dropping else output.transpose(1, 2),
        mask=seen,
        bias=bias,
        causal=inner is not None and bool(inner.is_causal),
        scale=None if scale is None else float(scale),
        softcap=options.get("softcap"),
        sink=None if sinks is None else sinks.reshape(-1),
    )
    return call, layer_info(module, f"transformers, {backend}", scale, (DROPPED,) if dropping else ())
