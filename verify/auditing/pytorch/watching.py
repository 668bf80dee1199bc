"""What stands in for PyTorch's functions and transformers' interface while a program is recorded.

The functions call the originals, then record. They are of this module and do nothing more than that where no
recording is under way, for a program may import them while it is recorded and keep them. Of transformers'
models all attention calls are seen, whichever kernel computes them.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import torch
from torch.nn import functional
from torch.nn.attention import flex_attention as flex_module
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.overrides import TorchFunctionMode

from verify.auditing.pytorch.calls import (
    Arguments,
    attention_call,
    block_mask_seen,
    flex_call,
    refuse_other,
    replaced,
    split_mask,
)
from verify.auditing.pytorch.recorder import Caller, Recorder, caller, compiled_graphs
from verify.auditing.recording import Call

_MARK = "_records_attention"
_MASKED_ELSEWHERE = ("flash", "paged")  # kernels whose masks are no tensors over keys
_SLOW = (
    "PyTorch's fast path is off while recording: without a recording a fused kernel may compute this layer, "
    "with other rounding, and zeros where all is padding"
)

_attention = functional.scaled_dot_product_attention
_multi_head = functional.multi_head_attention_forward
_flex = flex_module.flex_attention
_one_at_a_time = threading.Lock()

_CallInside = tuple[tuple[Any, ...], dict[str, Any], Any]
"""Arguments, those by name, and the output of a call of PyTorch's attention."""


class _Process(threading.local):
    """The recorder of this process, and in this thread what its caller does with calls inside."""

    recorder: Recorder | None = None
    inside: list[_CallInside] | None = None


_process = _Process()

# A process that is forked off would write to the same files.
os.register_at_fork(after_in_child=lambda: setattr(_Process, "recorder", None))


def _current() -> Recorder | None:
    """Return the recorder that calls go to, None where there is none.

    Compilers and tracers would record our own work, and a backward pass makes calls again that were seen.
    """
    if torch.compiler.is_compiling() or torch._C._is_tracing():
        return None
    recorder = _Process.recorder
    return recorder if torch._C._current_graph_task_id() == -1 else None


@contextmanager
def _calls_inside() -> Iterator[list[_CallInside]]:
    """Record nothing inside, where the caller does; yield arguments and outputs of PyTorch's attention."""
    before, _process.inside = _process.inside, []
    try:
        yield _process.inside
    finally:
        _process.inside = before


def _kind_of(query: Any, key: Any, tokens: int = -2) -> Any:
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


def _stand_in(original: Any, make: Callable[..., Call]) -> Callable[..., Any]:
    """Return a function that attends and records; ``make`` returns the call of arguments and output."""

    def attend(*args: Any, **kwargs: Any) -> Any:
        recorder = _current()
        if recorder is None:
            return original(*args, **kwargs)
        if (inside := _process.inside) is not None:
            result = original(*args, **kwargs)
            if original is _attention:
                inside.append((args, kwargs, result))
            return result
        query, key = _query_and_key(args, kwargs)
        at, kind = caller(), _kind_of(query, key)
        # Flex attention compiles itself, which says nothing of the program.
        before = compiled_graphs()
        result = original(*args, **kwargs)
        recorder.graphs += compiled_graphs() - before
        if not recorder.is_closed(at, kind):
            output = result[0] if isinstance(result, tuple) else result
            see = functools.partial(make, args, kwargs, output)
            recorder.see(at, kind, query, key, original.__name__, see)
        return result

    return attend


scaled_dot_product_attention = _stand_in(_attention, attention_call)
flex_attention = _stand_in(_flex, lambda args, kwargs, output: flex_call(output, *args, **kwargs))


def multi_head_attention_forward(*args: Any, **kwargs: Any) -> Any:
    """Attend as `nn.MultiheadAttention` does, and record the call, whether its weights are wanted or not."""
    recorder = _current()
    if recorder is None or _process.inside is not None:
        return _multi_head(*args, **kwargs)
    at, kind = caller(), _kind_of(*_query_and_key(args, kwargs), tokens=0)
    if recorder.is_closed(at, kind):
        with _calls_inside():
            return _multi_head(*args, **kwargs)
    # Without gradients and dropout PyTorch would take its fast path, in which nothing is seen.
    evaluates = not torch.is_grad_enabled() and kwargs.get("training") is False
    visible = replaced(functional, "has_torch_function", _has_own_function)
    # Two threads would put each other's function back.
    with _one_at_a_time, visible, _Functions() as listed, _calls_inside():
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


_STAND_INS = (
    (_attention, scaled_dot_product_attention),
    (_multi_head, multi_head_attention_forward),
    (_flex, flex_attention),
)
"""The originals, and what stands in for them."""

# Scripting takes the originals: the built-in by its name, the others by these attributes.
torch.jit._builtins._register_builtin(scaled_dot_product_attention, "aten::scaled_dot_product_attention")
for _original, _new in _STAND_INS:
    functools.update_wrapper(_new, _original)
    _new.__dict__.update(__script_if_tracing_wrapper=True, __original_fn=_original)


def _replace_everywhere(*, back: bool = False) -> None:
    """Put the stand-ins in the place of the originals, or back, under whatever name a module has them."""
    new = {id(pair[back]): pair[not back] for pair in _STAND_INS}
    for module in list(sys.modules.values()):
        content = getattr(module, "__dict__", {})
        if content.get("__name__") != __name__:
            for name in [name for name, value in list(content.items()) if id(value) in new]:
                setattr(module, name, new[id(content[name])])


@contextmanager
def watching(recorder: Recorder) -> Iterator[None]:
    """Hand a recorder the calls that are made inside.

    Until all layers are full it is seen which modules run, and PyTorch's fused layers take their slow path,
    in which attention is called.
    """
    # PyTorch's compiler lists functions when it is first used, and has to find the originals.
    with suppress(ImportError, AttributeError):
        importlib.import_module("torch._dynamo.trace_rules").get_torch_obj_rule_map()
    fused = torch.backends.mha.get_fastpath_enabled()
    with ExitStack() as stack, recorder.until_full:
        attached: list[Any] = []

        def attach() -> None:
            """Let transformers' interface give functions that record, once the program has imported it."""
            kind = getattr(sys.modules.get("transformers.modeling_utils"), "AttentionInterface", None)
            if kind is not None and not attached:
                attached.append(kind)
                for name in ("__getitem__", "get_interface"):
                    if (original := getattr(kind, name, None)) is not None:
                        stack.enter_context(replaced(kind, name, _lookup(original)))

        def note(module: Any, _args: Any) -> None:
            if not torch.compiler.is_compiling():
                attach()
                recorder.modules.ran.add(module)

        attach()
        recorder.until_full.callback(register_module_forward_pre_hook(note).remove)
        recorder.until_full.callback(torch.backends.mha.set_fastpath_enabled, fused)
        torch.backends.mha.set_fastpath_enabled(False)
        _replace_everywhere()
        _Process.recorder = recorder
        try:
            yield
        finally:
            _Process.recorder = None
            _replace_everywhere(back=True)


def _lookup(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that returns what ``original`` does, but recording."""

    @functools.wraps(original)
    def get(interface: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        attention = original(interface, name, *args, **kwargs)
        can_record = callable(attention) and isinstance(attention, Hashable) and not hasattr(attention, _MARK)
        return _recording(attention, str(name)) if can_record and _current() is not None else attention

    return get


@functools.lru_cache(maxsize=64)  # models ask for it in every call of every layer
def _recording(attention: Callable[..., Any], backend: str) -> Callable[..., Any]:
    """Return an attention function of transformers that records what it is given and gives back."""

    @functools.wraps(attention)
    def attend(
        module: Any, query: Any, key: Any, value: Any, attention_mask: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        given = module, query, key, value, attention_mask
        if (recorder := _current()) is None:
            return attention(*given, *args, **kwargs)
        at, kind = Caller(module), _kind_of(query, key)
        with _calls_inside() as inside:
            result = attention(*given, *args, **kwargs)
        if any(word in backend for word in _MASKED_ELSEWHERE):
            recorder.left_out[f"calls of {backend}, whose masks cannot be read, were not recorded"] += 1
        elif not recorder.is_closed(at, kind):
            asked = Arguments(query, key, value, attention_mask, scale=kwargs.get("scaling"))
            make = functools.partial(_call, asked, inside, result[0], kwargs, is_training=module.training)
            recorder.see(at, kind, query, key, f"transformers, {backend}", make)
        return result

    setattr(attend, _MARK, True)
    return attend


def _call(
    asked: Arguments, inside: list[_CallInside], output: Any, options: dict[str, Any], *, is_training: bool
) -> Call:
    """Return the call of an attention function that was ``asked`` with these options and gave this output.

    What PyTorch's attention was given ``inside`` is what counts, if it was given all queries at once.
    """
    query, key, value = asked[:3]
    refuse_other(query, key, value, output)
    inner = [Arguments(*positional, **named) for positional, named, _ in inside]
    is_inner = len(inner) == 1 and inner[0].query.shape == query.shape
    given = inner[0] if is_inner else asked
    mask, bias = given.attn_mask, None if is_inner else options.get("position_bias")
    if not is_inner and not isinstance(mask, torch.Tensor | None):
        mask = block_mask_seen(mask, query, key)
    elif not is_inner and mask is not None and mask.dim() and mask.shape[-1] > key.shape[2] > 0:
        mask = mask[..., : key.shape[2]]  # caches may be longer than their content
    seen, bias = split_mask(mask, bias)
    sinks = options.get("s_aux")
    # Its shape is [sequence, token, head, d], or its last two axes are one.
    output = output.reshape(len(query), query.shape[2], query.shape[1], value.shape[-1])
    dropping = bool(options.get("dropout")) and (is_training or is_inner)
    return Call(
        query=query,
        key=key,
        value=value,
        output=None if dropping else output.transpose(1, 2),
        mask=seen,
        bias=bias,
        causal=bool(given.is_causal),
        scale=None if given.scale is None else float(given.scale),
        softcap=options.get("softcap"),
        sink=None if sinks is None else sinks.reshape(-1),
    )
