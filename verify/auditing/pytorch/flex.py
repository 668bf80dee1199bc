"""Sees the calls of ``flex_attention`` where they are not compiled, its functions evaluated on all pairs.

A mask function becomes a mask, and a score function what it adds to the scores; where it does more than add,
no intended scale decides.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import torch

from verify.auditing.pytorch.calls import Arguments, CallSink, LayerInfo, Masks, attention_call, replaced

if TYPE_CHECKING:
    from verify.auditing.pytorch.mode import AttentionMode
    from verify.auditing.recording import Call

_MODULE = "torch.nn.attention.flex_attention"
_NAME = "flex_attention"
_NO_SUM = "were changed as scores by a function that does more than add to them"


def attach(mode: AttentionMode, recorder: CallSink, stack: ExitStack) -> None:
    """Record ``flex_attention`` under the names that modules have for it; ``stack`` undoes this."""
    module = sys.modules.get(_MODULE)
    original = getattr(module, _NAME, None)
    if original is None or hasattr(original, "__wrapped__"):
        return
    is_recording = [True]
    stack.callback(is_recording.clear)

    @functools.wraps(original)
    def flex_attention(*args: Any, **kwargs: Any) -> Any:
        if not is_recording or torch.compiler.is_compiling():
            return original(*args, **kwargs)
        with mode.within_interface(), recorder.expecting_graphs():
            result = original(*args, **kwargs)
        with recorder.unharmed(_NAME):
            mode.keep(lambda: seen(mode, *args, _result=result, **kwargs))
        return result

    for one in list(sys.modules.values()):
        if getattr(one, "__dict__", {}).get(_NAME) is original:
            stack.enter_context(replaced(one, _NAME, flex_attention))


def seen(
    mode: AttentionMode,
    query: Any,
    key: Any,
    value: Any,
    score_mod: Callable[..., Any] | None = None,
    block_mask: Any = None,
    scale: float | None = None,
    *others: Any,
    _result: Any,
    **named: Any,
) -> tuple[Call, LayerInfo]:
    """Return the call of ``flex_attention`` with these arguments."""
    del others, named
    output = _result[0] if isinstance(_result, tuple) else _result
    mask = visible(block_mask, query, key)
    bias, is_sum = (None, True) if score_mod is None else _added(score_mod, query, key, scale)
    if bias is not None:
        bias = bias if mask is None else bias.masked_fill(~mask, -torch.inf)
    given = Arguments(query, key, value, mask if bias is None else bias, scale=scale)
    call, about = attention_call(given, output, Masks()), LayerInfo(backend=_NAME)
    if is_sum:
        return mode.scaled((query, key, value), call, about)
    return mode.scaled((query, key, value), call, about, unknown=f"queries and keys {_NO_SUM}")


def visible(block_mask: Any, query: Any, key: Any) -> Any:
    """Return what a block mask shows, [sequence, head, query, key]; None where there is none."""
    function = getattr(block_mask, "mask_mod", None)
    if function is None:
        return None
    sizes = (*query.shape[:3], key.shape[2])
    return _over_pairs(lambda _, *places: function(*places), query.new_zeros(()).expand(sizes))


def _over_pairs(function: Callable[..., Any], scores: Any) -> Any:
    """Return ``function`` of each score and its four places."""
    places = [torch.arange(size, device=scores.device, dtype=torch.int) for size in scores.shape]
    for axis in (3, 2, 1, 0):
        own = tuple(0 if axis == place else None for place in range(4))
        function = torch.vmap(function, in_dims=(0, *own))
    return function(scores, *places)


def _added(score_mod: Callable[..., Any], query: Any, key: Any, scale: float | None) -> tuple[Any, bool]:
    """Return what a score function adds to the scores, and whether it is the same for scores of 0."""
    repeated = key.double().repeat_interleave(query.shape[1] // key.shape[1], 1)
    size = query.shape[-1] ** -0.5 if scale is None else scale
    scores = (size * query.double() @ repeated.mT).expand(*query.shape[:3], -1)
    changed, flat = (_over_pairs(score_mod, one).double() for one in (scores, torch.zeros_like(scores)))
    hidden = changed == -torch.inf
    added = torch.where(hidden, changed, changed - scores)
    close = torch.isclose(added, flat, rtol=1e-5, atol=1e-5) | (hidden & (flat == -torch.inf))
    return added.float(), bool(close.all())
