"""Sees the attention calls of transformers' models, whichever kernel computes them."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import torch

from verify.auditing.pytorch.calls import (
    DROPPED,
    Arguments,
    block_mask_seen,
    refuse_other,
    replaced,
    split_mask,
)
from verify.auditing.pytorch.functions import calls_inside, current, kind_of
from verify.auditing.pytorch.intentions import described
from verify.auditing.pytorch.places import Caller
from verify.auditing.recording import Call

if TYPE_CHECKING:
    from verify.auditing.pytorch.recorder import Made

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
            if not is_attached and kind is not None:
                is_attached = True
                for name in ("__getitem__", "get_interface"):
                    if (original := getattr(kind, name, None)) is not None:
                        stack.enter_context(replaced(kind, name, _lookup(original)))

        yield attach


def _lookup(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that returns what ``original`` does, but recording."""

    @functools.wraps(original)
    def get(interface: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        attention = original(interface, name, *args, **kwargs)
        if current() is None or not callable(attention) or hasattr(attention, _MARK):
            return attention
        return _recording(attention, str(name))

    return get


def _recording(attention: Callable[..., Any], backend: str) -> Callable[..., Any]:
    """Return an attention function of transformers that records what it is given and gives back."""

    @functools.wraps(attention)
    def attend(
        module: Any, query: Any, key: Any, value: Any, attention_mask: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        recorder, at = current(), Caller(module)
        if recorder is None or recorder.is_closed(at, kind := kind_of(query, key)):
            return attention(module, query, key, value, attention_mask, *args, **kwargs)
        with calls_inside() as inside:
            result = attention(module, query, key, value, attention_mask, *args, **kwargs)
        if any(word in backend for word in _MASKED_ELSEWHERE):
            recorder.leave_out(f"calls of {backend}, whose masks cannot be read, were not recorded")
            return result

        def make(_module: Any) -> Made:
            refuse_other(query, key, value, result[0])
            # What PyTorch's attention was given in turn is what counts.
            inner = inside[0][0] if len(inside) == 1 and inside[0][0].query.shape == query.shape else None
            given = inner or Arguments(query, key, value, attention_mask, scale=kwargs.get("scaling"))
            mask, bias = given.attn_mask, None
            if inner is None:
                bias = kwargs.get("position_bias")
                if not isinstance(mask, torch.Tensor | None):
                    mask = block_mask_seen(mask, query, key)
                elif mask is not None and mask.dim() and mask.shape[-1] > key.shape[2] > 0:
                    mask = mask[..., : key.shape[2]]  # caches may be longer than their content
            seen, bias = split_mask(mask, bias)
            sinks = kwargs.get("s_aux")
            dropping = bool(kwargs.get("dropout")) and (module.training or inner is not None)
            # Its shape is [sequence, token, head, d], or its last two axes are one.
            output = result[0].reshape(len(query), query.shape[2], query.shape[1], value.shape[-1])
            call = Call(
                query=query,
                key=key,
                value=value,
                output=None if dropping else output.transpose(1, 2),
                mask=seen,
                bias=bias,
                causal=bool(given.is_causal),
                scale=None if given.scale is None else float(given.scale),
                softcap=kwargs.get("softcap"),
                sink=None if sinks is None else sinks.reshape(-1),
            )
            notes = (DROPPED,) if dropping else ()
            return call, described(module, f"transformers, {backend}", given.scale, notes)

        recorder.see(at, kind, query, key, make)
        return result

    setattr(attend, _MARK, True)
    return attend
