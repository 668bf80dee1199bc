"""Functions that stand in for PyTorch's while a program is recorded: each calls the original, then records.

They are module-level functions that do nothing more than that where no recording is under way, for a program
may import them while it is recorded and keep them.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional
from torch.nn.attention import flex_attention as flex_module
from torch.overrides import TorchFunctionMode

from verify.auditing.pytorch.calls import (
    DROPPED,
    Arguments,
    attention_call,
    flex_call,
    refuse_other,
    replaced,
    split_mask,
)
from verify.auditing.pytorch.intentions import described
from verify.auditing.pytorch.places import caller
from verify.auditing.recording import Call, Layer

if TYPE_CHECKING:
    from verify.auditing.pytorch.recorder import Made, Recorder

_SLOW = (
    "PyTorch's fast path is off while recording: without a recording a fused kernel may compute this layer, "
    "with other rounding, and zeros where all is padding"
)

_attention = functional.scaled_dot_product_attention
_multi_head = functional.multi_head_attention_forward
_flex = flex_module.flex_attention


class Process(threading.local):
    """The recorder of this process, and in this thread what a caller that records has inside."""

    recorder: Recorder | None = None
    inside: list[tuple[Arguments, Any]] | None = None


_process = Process()

# A process that is forked off would write to the same files.
os.register_at_fork(after_in_child=lambda: setattr(Process, "recorder", None))


def current() -> Recorder | None:
    """Return the recorder that calls go to, None where there is none.

    Compilers and tracers would record our own work, and a backward pass makes calls again that were seen.
    """
    if torch.compiler.is_compiling() or torch._C._is_tracing():
        return None
    recorder = Process.recorder
    return recorder if recorder is not None and torch._C._current_graph_task_id() == -1 else None


@contextmanager
def calls_inside() -> Iterator[list[tuple[Arguments, Any]]]:
    """Record nothing inside, where the caller does; yield what PyTorch's attention is given there."""
    before, _process.inside = _process.inside, []
    try:
        yield _process.inside
    finally:
        _process.inside = before


def kind_of(query: Any, key: Any) -> Any:
    """Return what tells calls of one caller apart: heads, width, and whether keys are more than queries.

    It is None for tensors that have no plain shape.
    """
    try:
        with torch._C.DisableTorchFunction():
            *heads, queries, width = query.shape
            *key_heads, keys, _ = key.shape
    except Exception:  # noqa: BLE001 - such as nested tensors
        return None
    return width, queries < keys, *heads[-1:], *key_heads[-1:]


def scaled_dot_product_attention(*args: Any, **kwargs: Any) -> Any:
    """Attend, and record the call."""
    output = _attention(*args, **kwargs)
    recorder = current()
    if recorder is None or not isinstance(output, torch.Tensor):
        return output
    given = Arguments(*args, **kwargs)
    if _process.inside is not None:
        _process.inside.append((given, output))
        return output
    at, kind = caller(), kind_of(given.query, given.key)
    if recorder.is_closed(at, kind):
        return output

    def make(module: Any) -> Made:
        notes = (DROPPED,) if given.dropout_p > 0 else ()
        layer = described(module, "scaled_dot_product_attention", given.scale, notes)
        return attention_call(given, output), layer

    recorder.see(at, kind, given.query, given.key, make)
    return output


def flex_attention(*args: Any, **kwargs: Any) -> Any:
    """Attend with flex attention, and record the call where it is not compiled."""
    recorder = current()
    if recorder is None or _process.inside is not None:
        return _flex(*args, **kwargs)
    # It compiles itself, which says nothing of the program.
    with recorder.own_graphs():
        result = _flex(*args, **kwargs)
    with recorder.unharmed("flex_attention"):
        output = result[0] if isinstance(result, tuple) else result
        named = {name: kwargs[name] for name in ("query", "key", "value") if name in kwargs}
        query, key, _ = Arguments(*args[:3], **named)[:3]
        at, kind = caller(), kind_of(query, key)
        if not recorder.is_closed(at, kind):
            layer = Layer("", (), backend="flex_attention")
            recorder.see(at, kind, query, key, lambda _: (flex_call(output, *args, **kwargs), layer))
    return result


def multi_head_attention_forward(*args: Any, **kwargs: Any) -> Any:
    """Attend as `nn.MultiheadAttention` does, and record the call, whether its weights are wanted or not."""
    recorder = current()
    if recorder is None or _process.inside is not None:
        return _multi_head(*args, **kwargs)
    at, kind = caller(), _lengths(*args, **kwargs)
    if recorder.is_closed(at, kind):
        return _multi_head(*args, **kwargs)
    evaluates = not torch.is_grad_enabled() and kwargs.get("training") is False
    visible = replaced(functional, "has_torch_function", _has_own_function)
    with visible, calls_inside() as inside, _Functions() as listed:
        result = _multi_head(*args, **kwargs)
    with recorder.unharmed("multi_head_attention_forward"):
        width, heads = args[3:5] if len(args) > 4 else (kwargs["embed_dim_to_check"], kwargs["num_heads"])
        call = attention_call(*inside[0]) if inside else _written_out(listed.calls, heads)
        notes = ((DROPPED,) if call.output is None else ()) + ((_SLOW,) if evaluates else ())
        layer = Layer("", (), width=int(width), backend="multi_head_attention_forward", notes=notes)
        recorder.see(at, kind, call.query, call.key, lambda _: (call, layer))
    return result


def _lengths(query: Any = None, key: Any = None, *_others: Any, **_named: Any) -> Any:
    """Return whether there are fewer queries than keys; None of no tensors, which PyTorch will refuse."""
    if isinstance(query, torch.Tensor) and isinstance(key, torch.Tensor):
        with torch._C.DisableTorchFunction():
            return query.size(0) < key.size(0)
    return None


def _has_own_function(tensors: Sequence[Any]) -> bool:
    """Return whether a tensor overrides PyTorch's functions; modes that are entered do not count.

    A function mode hides what is inside, unless the original finds no function of a tensor's own.
    """
    none = torch._C._disabled_torch_function_impl
    kinds = {type(tensor) for tensor in tensors} - {torch.Tensor}
    return any(getattr(kind, "__torch_function__", none) is not none for kind in kinds)


class _Functions(TorchFunctionMode):  # type: ignore[misc]  # PyTorch is not checked
    """Lists the functions of PyTorch that are called, with arguments and results."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Any, tuple[Any, ...], Any]] = []

    def __torch_function__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call ``func``, and list it."""
        result = func(*args, **kwargs or {})
        self.calls.append((func, args, result))
        return result


def _written_out(calls: list[tuple[Any, tuple[Any, ...], Any]], heads: int) -> Call:
    """Return the call of attention that is written out, as where weights are wanted, from its functions.

    Queries are multiplied by the scale, then by the keys, to which a mask may be added, and weights by the
    values.
    """
    (scores, _), ((_, value), output) = (
        (args, result) for func, args, result in calls if func in (torch.bmm, torch.baddbmm)
    )
    *mask, scaled, turned = scores
    query, scale = next(args for _, args, result in calls if result is scaled)
    refuse_other(query, turned, value, output)
    query, key, value, output = (
        array.unflatten(0, (-1, heads)) for array in (query, turned.mT, value, output)
    )
    # A mask is the same for all sequences and heads, or has them as one axis.
    mask = [part if len(part) == 1 else part.unflatten(0, (-1, heads)) for part in mask]
    seen, bias = split_mask(*mask or [None])
    dropped = any(func is functional.dropout for func, _, _ in calls)
    return Call(query, key, value, None if dropped else output, seen, bias, scale=scale)


STAND_INS = (
    (_attention, scaled_dot_product_attention),
    (_multi_head, multi_head_attention_forward),
    (_flex, flex_attention),
)
"""The originals, and what stands in for them."""

# Scripting takes the originals: the built-in by its name, the others by these attributes.
torch.jit._builtins._register_builtin(scaled_dot_product_attention, "aten::scaled_dot_product_attention")
for _original, _new in STAND_INS:
    functools.update_wrapper(_new, _original)
    _new.__dict__.update(__script_if_tracing_wrapper=True, __original_fn=_original)


def replace_everywhere(*, back: bool = False) -> None:
    """Put the stand-ins in the place of the originals, or back, under whatever name a module has them."""
    new = {id(pair[back]): pair[not back] for pair in STAND_INS}
    for module in list(sys.modules.values()):
        content = getattr(module, "__dict__", {})
        if content.get("__name__") != __name__:
            for name in [name for name, value in list(content.items()) if id(value) in new]:
                setattr(module, name, new[id(content[name])])
