"""What stands in for PyTorch's functions and transformers' interface while a program is recorded.

Of transformers' models all attention calls are seen, whichever kernel computes them.
"""

import functools
import importlib
import sys
from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import torch
from torch.nn.modules.module import register_module_forward_pre_hook

from verify.auditing.pytorch.calls import Arguments, block_mask_seen, refuse_other, replaced, split_mask
from verify.auditing.pytorch.functions import (
    CallInside,
    Process,
    Unseen,
    calls_inside,
    current,
    kind_of,
    replace_everywhere,
)
from verify.auditing.pytorch.places import Caller
from verify.auditing.pytorch.recorder import Recorder
from verify.auditing.recording import Call

_MARK = "_records_attention"
_MASKED_ELSEWHERE = ("flash", "paged")  # kernels whose masks are no tensors over keys


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
        replace_everywhere()
        Process.recorder = recorder
        try:
            yield
        finally:
            Process.recorder = None
            replace_everywhere(back=True)


def _lookup(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that returns what ``original`` does, but recording."""

    @functools.wraps(original)
    def get(interface: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        attention = original(interface, name, *args, **kwargs)
        can_record = callable(attention) and isinstance(attention, Hashable) and not hasattr(attention, _MARK)
        return _recording(attention, str(name)) if can_record and current() is not None else attention

    return get


@functools.lru_cache(maxsize=64)  # models ask for it in every call of every layer
def _recording(attention: Callable[..., Any], backend: str) -> Callable[..., Any]:
    """Return an attention function of transformers that records what it is given and gives back."""

    @functools.wraps(attention)
    def attend(
        module: Any, query: Any, key: Any, value: Any, attention_mask: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        given = module, query, key, value, attention_mask
        if (recorder := current()) is None:
            return attention(*given, *args, **kwargs)
        at, kind = Caller(module), kind_of(query, key)
        if recorder.is_closed(at, kind):
            with Unseen():
                return attention(*given, *args, **kwargs)
        with calls_inside() as inside:
            result = attention(*given, *args, **kwargs)
        if any(word in backend for word in _MASKED_ELSEWHERE):
            recorder.leave_out(f"calls of {backend}, whose masks cannot be read, were not recorded")
            return result

        asked = Arguments(query, key, value, attention_mask, scale=kwargs.get("scaling"))
        make = functools.partial(_call, asked, inside, result[0], kwargs, is_training=module.training)
        recorder.see(at, kind, query, key, f"transformers, {backend}", make)
        return result

    setattr(attend, _MARK, True)
    return attend


def _call(
    asked: Arguments, inside: list[CallInside], output: Any, options: dict[str, Any], *, is_training: bool
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
