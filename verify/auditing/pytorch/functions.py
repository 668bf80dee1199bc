"""Functions that stand in for PyTorch's while a program is recorded: each calls the original, then records.

They are module-level functions that do nothing more than that where no recording is under way, for a program
may import them while it is recorded and keep them.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
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
from verify.auditing.recording import Call, Intended, Layer
from verify.auditing.scales import DEFAULT

if TYPE_CHECKING:
    from verify.auditing.pytorch.recorder import Recorder

_SLOW = (
    "PyTorch's fast path is off while recording: without a recording a fused kernel may compute this layer, "
    "with other rounding, and zeros where all is padding"
)
_NO_SUM = "a score function does more than add to scores"

_attention = functional.scaled_dot_product_attention
_multi_head = functional.multi_head_attention_forward
_flex = flex_module.flex_attention


class _Recording(threading.local):
    """The recorder of this process, and in this thread what a caller that records has inside."""

    recorder: Recorder | None = None
    inside: list[tuple[Arguments, Any]] | None = None


_recording = _Recording()


# A process that is forked off would write to the same files.
os.register_at_fork(after_in_child=lambda: setattr(_Recording, "recorder", None))


def current() -> Recorder | None:
    """Return the recorder that calls go to, None where there is none.

    Compilers and tracers would record our own work, and a backward pass makes calls again that were seen.
    """
    if torch.compiler.is_compiling() or torch._C._is_tracing():
        return None
    recorder = _Recording.recorder
    return recorder if recorder is not None and torch._C._current_graph_task_id() == -1 else None


@contextmanager
def calls_inside() -> Iterator[list[tuple[Arguments, Any]]]:
    """Record nothing inside, where the caller does; yield what PyTorch's attention is given there."""
    before, _recording.inside = _recording.inside, []
    try:
        yield _recording.inside
    finally:
        _recording.inside = before


def scaled_dot_product_attention(*args: Any, **kwargs: Any) -> Any:
    """Attend, and record the call."""
    output = _attention(*args, **kwargs)
    recorder = current()
    if recorder is not None and isinstance(output, torch.Tensor):
        given = Arguments(*args, **kwargs)
        if _recording.inside is not None:
            _recording.inside.append((given, output))
        elif not recorder.is_closed(at := caller(), given.query, given.key):
            notes = (DROPPED,) if given.dropout_p > 0 else ()

            def call(module: Any) -> tuple[Call, Layer]:
                layer = described(module, "scaled_dot_product_attention", given.scale, notes)
                return attention_call(given, output), layer

            recorder.see(at, given.query, given.key, call)
    return output


def flex_attention(*args: Any, **kwargs: Any) -> Any:
    """Attend with flex attention, and record the call where it is not compiled."""
    recorder = current()
    if recorder is None or _recording.inside is not None:
        return _flex(*args, **kwargs)
    before = recorder.compiled_graphs()
    result = _flex(*args, **kwargs)
    recorder.expected_graphs += recorder.compiled_graphs() - before

    def call(_module: Any) -> tuple[Call, Layer]:
        output = result[0] if isinstance(result, tuple) else result
        call, only_adds = flex_call(output, *args, **kwargs)
        meant = None if only_adds else Intended(DEFAULT, "unknown", _NO_SUM)
        return call, Layer("", (), meant, backend="flex_attention")

    with recorder.unharmed("flex_attention"):
        named = {name: kwargs[name] for name in ("query", "key", "value") if name in kwargs}
        query, key, _ = Arguments(*args[:3], **named)[:3]
        recorder.see(caller(), query, key, call)
    return result


def multi_head_attention_forward(*args: Any, **kwargs: Any) -> Any:
    """Attend as `nn.MultiheadAttention` does, and record the call, whether its weights are wanted or not."""
    recorder = current()
    if recorder is None or _recording.inside is not None:
        return _multi_head(*args, **kwargs)
    at = caller()
    query, key = (
        kwargs.get(name, args[place] if len(args) > place else None)
        for place, name in enumerate(("query", "key"))
    )
    if recorder.is_closed(at, query, key, axis=0):
        return _multi_head(*args, **kwargs)
    products, evaluates = _Products(), not torch.is_grad_enabled() and kwargs.get("training") is False
    # A function mode hides what is inside, unless the original finds no function of a tensor's own.
    with replaced(functional, "has_torch_function", _has_own_function), calls_inside() as inside, products:
        result = _multi_head(*args, **kwargs)
    with recorder.unharmed("multi_head_attention_forward"):
        width, heads = args[3:5] if len(args) > 4 else (kwargs["embed_dim_to_check"], kwargs["num_heads"])
        if inside:
            given, output = inside[0]
            dropped, query, key = given.dropout_p > 0, given.query, given.key
        else:
            dropped = products.dropped
            query, key = (four_heads(array, heads) for array in products.scored())
        notes = ((DROPPED,) if dropped else ()) + ((_SLOW,) if evaluates else ())
        layer = Layer("", (), width=int(width), backend="multi_head_attention_forward", notes=notes)
        recorder.see(
            at,
            query,
            key,
            lambda _: (attention_call(given, output) if inside else products.call(heads), layer),
        )
    return result


def _has_own_function(tensors: Sequence[Any]) -> bool:
    """Return whether a tensor overrides PyTorch's functions; modes that are entered do not count."""
    none = torch._C._disabled_torch_function_impl
    kinds = {type(tensor) for tensor in tensors} - {torch.Tensor}
    return any(getattr(kind, "__torch_function__", none) is not none for kind in kinds)


class _Products(TorchFunctionMode):  # type: ignore[misc]  # PyTorch is not checked
    """Sees the two products of attention that is written out, as where weights are wanted."""

    def __init__(self) -> None:
        super().__init__()
        self._scaled: dict[int, tuple[Any, Any, float]] = {}
        self._products: list[tuple[tuple[Any, ...], Any]] = []
        self.dropped = False

    def __torch_function__(
        self, func: Any, _types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call ``func``, and remember it where it is a part of attention."""
        result = func(*args, **kwargs or {})
        if func in (torch.Tensor.mul, torch.Tensor.__mul__) and isinstance(args[1], float):
            self._scaled[id(result)] = (result, args[0], args[1])
        elif func in (torch.bmm, torch.baddbmm):
            self._products.append((args, result))
        elif func is functional.dropout:
            self.dropped = True
        return result

    def scored(self) -> tuple[Any, Any]:
        """Return the queries and keys whose product is taken, [sequence · head, token, d]."""
        *_, scaled, turned = self._products[0][0]
        return self._scaled[id(scaled)][1], turned.mT

    def call(self, heads: int) -> Call:
        """Return the call with this number of heads."""
        (scores, _), ((_, value), output) = self._products
        query, key = self.scored()
        refuse_other(query, key, value, output)
        # A mask is the same for all sequences and heads, or has them as one axis.
        mask = scores[0] if len(scores) == 3 else None
        seen, bias = split_mask(mask if mask is None or len(mask) == 1 else four_heads(mask, heads))
        query, key, value, output = (four_heads(array, heads) for array in (query, key, value, output))
        scale = self._scaled[id(scores[-2])][2]
        return Call(query, key, value, None if self.dropped else output, seen, bias, scale=scale)


def four_heads(array: Any, heads: int) -> Any:
    """Return an array of [sequence · head, token, d] as [sequence, head, token, d]."""
    return array.unflatten(0, (-1, heads))


_STAND_INS = (
    (_attention, scaled_dot_product_attention),
    (_multi_head, multi_head_attention_forward),
    (_flex, flex_attention),
)
# Scripting takes the originals: the built-in by its name, the others by these attributes.
torch.jit._builtins._register_builtin(scaled_dot_product_attention, "aten::scaled_dot_product_attention")
for _original, _new in _STAND_INS:
    functools.update_wrapper(_new, _original)
    _new.__dict__.update(__script_if_tracing_wrapper=True, __original_fn=_original)


@contextmanager
def standing_in(recorder: Recorder) -> Iterator[None]:
    """Let all modules have the functions that record in the place of the originals while this lasts."""
    # PyTorch's compiler lists functions when it is first used, and has to find the originals.
    with suppress(ImportError, AttributeError):
        importlib.import_module("torch._dynamo.trace_rules").get_torch_obj_rule_map()
    _replace_everywhere({id(original): new for original, new in _STAND_INS})
    _Recording.recorder = recorder
    try:
        yield
    finally:
        _Recording.recorder = None
        _replace_everywhere({id(new): original for original, new in _STAND_INS})


def _replace_everywhere(new: Mapping[int, Any]) -> None:
    """Replace functions, by their ids, under whatever name a module has them, in all modules but this."""
    for module in list(sys.modules.values()):
        content = getattr(module, "__dict__", {})
        if content.get("__name__") != __name__:
            for name in [name for name, value in list(content.items()) if id(value) in new]:
                setattr(module, name, new[id(content[name])])
