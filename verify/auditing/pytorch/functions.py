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

from verify.auditing.pytorch.calls import attention_call, flex_call, refuse_other, replaced, split_mask
from verify.auditing.pytorch.places import caller, compiled_graphs
from verify.auditing.recording import Call

if TYPE_CHECKING:
    from verify.auditing.pytorch.recorder import Recorder

_SLOW = (
    "PyTorch's fast path is off while recording: without a recording a fused kernel may compute this layer, "
    "with other rounding, and zeros where all is padding"
)

_attention = functional.scaled_dot_product_attention
_multi_head = functional.multi_head_attention_forward
_flex = flex_module.flex_attention
_one_at_a_time = threading.Lock()

CallInside = tuple[tuple[Any, ...], dict[str, Any], Any]
"""Arguments, those by name, and the output of a call of PyTorch's attention."""


class Process(threading.local):
    """The recorder of this process, and in this thread what its caller does with calls inside."""

    recorder: Recorder | None = None
    inside: list[CallInside] | None = None
    skips: bool = False


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
    is_seen = recorder is not None and not _process.skips and torch._C._current_graph_task_id() == -1
    return recorder if is_seen else None


@contextmanager
def calls_inside() -> Iterator[list[CallInside]]:
    """Record nothing inside, where the caller does; yield arguments and outputs of PyTorch's attention."""
    before, _process.inside = _process.inside, []
    try:
        yield _process.inside
    finally:
        _process.inside = before


class Unseen:
    """Spends no time on the calls that are made inside, by a function whose layer is full.

    A class, for a function would pass on some twenty arguments once more.
    """

    def __enter__(self) -> None:
        _process.skips = True

    def __exit__(self, *_error: object) -> None:
        _process.skips = False


def kind_of(query: Any, key: Any, tokens: int = -2) -> Any:
    """Return what tells calls of one caller apart: whether keys are more than queries, heads and width.

    ``tokens`` is the axis of tokens; where it is 0 heads are not yet split off. It is None for tensors that
    have no plain shape.
    """
    try:
        with torch._C.DisableTorchFunction():
            queries, keys = query.shape, key.shape
        is_step = queries[tokens] < keys[tokens]
        return is_step if tokens == 0 else (is_step, queries[-1], *queries[-3:-2], *keys[-3:-2])
    except Exception:  # noqa: BLE001 - such as nested tensors
        return None


def _query_and_key(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """Return the first two arguments, by position or by name, None for those that are missing."""
    if len(args) > 1:
        return args[0], args[1]
    return (args[0] if args else kwargs.get("query")), kwargs.get("key")


def scaled_dot_product_attention(*args: Any, **kwargs: Any) -> Any:
    """Attend, and record the call."""
    recorder = current()
    if recorder is None:
        return _attention(*args, **kwargs)
    if _process.inside is not None:
        output = _attention(*args, **kwargs)
        _process.inside.append((args, kwargs, output))
        return output
    query, key = _query_and_key(args, kwargs)
    at, kind = caller(), kind_of(query, key)
    output = _attention(*args, **kwargs)
    if not recorder.is_closed(at, kind):
        make = functools.partial(attention_call, args, kwargs, output)
        recorder.see(at, kind, query, key, "scaled_dot_product_attention", make)
    return output


def flex_attention(*args: Any, **kwargs: Any) -> Any:
    """Attend with flex attention, and record the call where it is not compiled."""
    recorder = current()
    if recorder is None or _process.inside is not None:
        return _flex(*args, **kwargs)
    query, key = _query_and_key(args, kwargs)
    at, kind = caller(), kind_of(query, key)
    # It compiles itself, which says nothing of the program.
    before = compiled_graphs()
    result = _flex(*args, **kwargs)
    recorder.graphs += compiled_graphs() - before
    if not recorder.is_closed(at, kind):
        output = result[0] if isinstance(result, tuple) else result
        make = functools.partial(flex_call, output, *args, **kwargs)
        recorder.see(at, kind, query, key, "flex_attention", make)
    return result


def multi_head_attention_forward(*args: Any, **kwargs: Any) -> Any:
    """Attend as `nn.MultiheadAttention` does, and record the call, whether its weights are wanted or not."""
    recorder = current()
    if recorder is None or _process.inside is not None:
        return _multi_head(*args, **kwargs)
    at, kind = caller(), kind_of(*_query_and_key(args, kwargs), tokens=0)
    if recorder.is_closed(at, kind):
        with Unseen():
            return _multi_head(*args, **kwargs)
    # Without gradients and dropout PyTorch would take its fast path, in which nothing is seen.
    evaluates = not torch.is_grad_enabled() and kwargs.get("training") is False
    visible = replaced(functional, "has_torch_function", _has_own_function)
    # Two threads would put each other's function back.
    with _one_at_a_time, visible, _Functions() as listed, Unseen():
        result = _multi_head(*args, **kwargs)
    with recorder.unharmed("multi_head_attention_forward"):
        call = _listed_call(listed.calls, heads=args[4] if len(args) > 4 else kwargs["num_heads"])
        notes = (_SLOW,) if evaluates else ()
        recorder.see(at, kind, call.query, call.key, "multi_head_attention_forward", lambda: call, notes)
    return result


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
        self.calls: list[tuple[Any, tuple[Any, ...], dict[str, Any], Any]] = []

    def __torch_function__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call ``func``, and list it."""
        result = func(*args, **kwargs or {})
        self.calls.append((func, args, kwargs or {}, result))
        return result


def _listed_call(calls: list[tuple[Any, tuple[Any, ...], dict[str, Any], Any]], heads: int) -> Call:
    """Return the call of attention among functions of PyTorch, where weights are wanted from its parts.

    Queries are then multiplied by the scale, then by the keys, to which a mask may be added, and weights by
    the values.
    """
    for func, args, kwargs, output in calls:
        if func in (_attention, scaled_dot_product_attention):
            return attention_call(args, kwargs, output)
    (scores, _), ((_, value), output) = (
        (args, result) for func, args, _, result in calls if func in (torch.bmm, torch.baddbmm)
    )
    *mask, scaled, turned = scores
    query, scale = next(args for _, args, _, result in calls if result is scaled)
    refuse_other(query, turned, value, output)
    query, key, value, output = (
        array.unflatten(0, (-1, heads)) for array in (query, turned.mT, value, output)
    )
    # A mask is the same for all sequences and heads, or has them as one axis.
    mask = [part if len(part) == 1 else part.unflatten(0, (-1, heads)) for part in mask]
    seen, bias = split_mask(*mask or [None])
    dropped = any(func is functional.dropout for func, *_ in calls)
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
