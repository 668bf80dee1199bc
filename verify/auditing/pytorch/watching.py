"""What stands in for PyTorch's functions and transformers' interface while a program is recorded.

The functions call the originals, then record. They are of this module and do nothing more than that where no
recording is under way, for a program may import them while it is recorded and keep them. Of transformers'
models all attention calls are seen, whichever kernel computes them.
"""

import functools
import importlib
import inspect
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any
from unittest.mock import patch

import torch
from torch.nn import functional
from torch.nn.attention import flex_attention as flex_module
from torch.nn.modules.module import register_module_forward_pre_hook

from verify.auditing.pytorch.calls import Arguments, attention_call, flex_call, interface_call
from verify.auditing.pytorch.recorder import Caller, Recorder, caller
from verify.auditing.recording import Call
from verify.errors import RecordingError

_MASKED_ELSEWHERE = ("flash", "paged")  # kernels whose masks are no tensors over keys

_COMPILED = "compiled functions ran; attention calls inside them are not seen"

_attention = functional.scaled_dot_product_attention
_multi_head = functional.multi_head_attention_forward
_flex = flex_module.flex_attention
_PARAMETERS = tuple(inspect.signature(_multi_head).parameters)


class _Process(threading.local):
    """The recorder of this process, and in this thread the calls inside another call, which is recorded."""

    recorder: Recorder | None = None
    inside: list[Arguments] | None = None


_process = _Process()

# A process that is forked off would write to the same files.
os.register_at_fork(after_in_child=lambda: setattr(_Process, "recorder", None))


def _current() -> Recorder | None:
    """Return the recorder that calls go to, None where there is none.

    Compilers and tracers would record our own work, and a backward pass makes calls again that were seen.
    """
    if torch.compiler.is_compiling():
        _note_compiled()
        return None
    is_first = torch._C._current_graph_task_id() == -1 and not torch._C._is_tracing()
    return _Process.recorder if is_first else None


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _note_compiled() -> None:
    """Note that an attention call is compiled; the compiler itself calls this, and compiles nothing of it."""
    if _Process.recorder is not None:
        _Process.recorder.left_out[_COMPILED] = 1


def _kind_of(query: Any, key: Any, *_others: Any, **_named: Any) -> Any:
    """Return what tells calls of one caller apart: whether keys are more than queries, width and heads.

    It is None for tensors that have no plain shape, such as nested ones.
    """
    with suppress(Exception), torch._C.DisableTorchFunction():
        queries, keys = query.shape, key.shape
        return queries[-2] < keys[-2], queries[-1], *queries[-3:-2], *keys[-3:-2]


def _stand_in(original: Any, make: Callable[..., Call]) -> Callable[..., Any]:
    """Return a function that attends and records; ``make`` returns the call of an output and arguments."""

    def attend(*args: Any, **kwargs: Any) -> Any:
        if (recorder := _current()) is None:
            return original(*args, **kwargs)
        result = original(*args, **kwargs)
        if _process.inside is None:
            at, kind = caller(), _kind_of(*args, **kwargs)
            output = result[0] if isinstance(result, tuple) else result
            if not recorder.is_closed(at, kind):
                recorder.see(at, kind, original.__name__, lambda: make(output, *args, **kwargs))
        elif original is _attention:
            _process.inside.append(Arguments(*args, **kwargs))
        return result

    return attend


scaled_dot_product_attention = _stand_in(_attention, attention_call)
flex_attention = _stand_in(_flex, flex_call)


def multi_head_attention_forward(*args: Any, **kwargs: Any) -> Any:
    """Attend as `nn.MultiheadAttention` does, and record attention whose weights are wanted.

    Otherwise PyTorch calls ``scaled_dot_product_attention``, which is recorded as any other call.
    """
    if (recorder := _current()) is None or _process.inside is not None:
        return _multi_head(*args, **kwargs)
    given = dict(zip(_PARAMETERS, args, strict=False)) | kwargs
    if given.get("need_weights") is False or recorder.is_closed(at := caller(), None):
        return _multi_head(*args, **kwargs)
    # Wanted here are the weights of each head; their mean is taken as PyTorch takes it.
    result: Any = _multi_head(**given | {"average_attn_weights": False})
    output, weights = result

    def make() -> Call:
        # The same call without weights hands its queries, keys and values to attention.
        with _calls_inside() as inside:
            _multi_head(**given | {"need_weights": False, "training": False})
        query, key, value, mask, *_ = inside[0]
        dropout = given["dropout_p"] * given.get("training", True)
        return attention_call(weights @ value, query, key, value, mask, dropout, inside[0].is_causal)

    recorder.see(at, None, "multi_head_attention_forward", make)
    return output, weights.mean(dim=-3) if given.get("average_attn_weights", True) else weights


@contextmanager
def _calls_inside() -> Iterator[list[Arguments]]:
    """Record nothing inside, and yield what PyTorch's attention is given there."""
    _process.inside = inside = list[Arguments]()
    try:
        yield inside
    finally:
        _process.inside = None


def _attend(
    attention: Callable[..., Any],
    backend: str,
    module: Any,
    query: Any,
    key: Any,
    value: Any,
    attention_mask: Any = None,
    *args: Any,
    **options: Any,
) -> Any:
    """Attend as a function of transformers, ``attention``, does, and record what it is given."""
    given, recorder = (query, key, value, attention_mask), _current()
    # The interface may hand out what it has from its own other method: then this is the inner of two.
    if recorder is None or _process.inside is not None:
        return attention(module, *given, *args, **options)
    with _calls_inside() as inside:
        result = attention(module, *given, *args, **options)
    at, kind = Caller(module), _kind_of(query, key)
    if any(word in backend for word in _MASKED_ELSEWHERE):
        recorder.left_out[f"calls of {backend}, whose masks cannot be read, were not recorded"] += 1
    elif not recorder.is_closed(at, kind):
        dropout = (options.get("dropout") or 0.0) * module.training
        asked = Arguments(*given, dropout, scale=options.get("scaling"))
        make = functools.partial(interface_call, result[0], asked, inside, options)
        recorder.see(at, kind, f"transformers, {backend}", make)
    return result


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


def _recorded_lookup(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of transformers' interface, ``original``, that gives functions which record."""

    @functools.wraps(original)
    def get(interface: Any, backend: str, *args: Any, **kwargs: Any) -> Any:
        attention = original(interface, backend, *args, **kwargs)
        if _current() is None or not callable(attention):
            return attention
        return functools.partial(_attend, attention, str(backend))

    return get


@contextmanager
def watching(recorder: Recorder) -> Iterator[None]:
    """Hand a recorder the calls that are made inside.

    Until all layers are full it is seen which modules run, and PyTorch's fused layers take their slow path,
    in which attention is called.

    Raises:
        RecordingError: another recorder is handed the calls.
    """
    if _Process.recorder is not None:
        raise RecordingError("record: is recording already; end the `with` that does first")
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
                    if hasattr(kind, name):
                        stack.enter_context(patch.object(kind, name, _recorded_lookup(getattr(kind, name))))

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
