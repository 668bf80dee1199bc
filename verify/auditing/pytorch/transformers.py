"""Sees the attention calls of transformers' models, whichever kernel computes them, and their intended scale.

1/√d is no norm that all keep to: some families have no scale, some state one, some change it with the
length of the context, and some scale their queries before the attention call.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from verify.auditing.masks import configured_mask
from verify.auditing.pytorch.calls import (
    DROPPED,
    Arguments,
    CallSink,
    LayerInfo,
    Masks,
    added,
    refuse_other,
    replaced,
    upto,
)
from verify.auditing.pytorch.flex import visible
from verify.auditing.recording import Call, Intended

if TYPE_CHECKING:
    from verify.auditing.pytorch.mode import AttentionMode

_MARK = "_records_attention"
_MASKED_ELSEWHERE = ("flash", "paged")  # kernels whose masks are no tensors over keys

_UNSCALED = frozenset(
    [
        *("dia", "diffusion_gemma", "embedding_gemma2", "gemma3n", "gemma4", "gemma4_unified", "longt5"),
        *("mt5", "pix2struct", "pop2piano", "switch_transformers", "t5", "udop", "umt5"),
    ]
)
"""Families whose scores are not scaled: their weights, or a norm of queries and keys, have taken it up."""

_OWN = {"inkling": "1/d", "zamba": "(d/2)**-0.5", "zamba2": "(d/2)**-0.5"}
"""Families with a scale of their own in d."""


class Interface:
    """Transformers' interface to its kernels, whose look-ups give attention functions that record.

    ``stack`` undoes this.
    """

    def __init__(self, mode: AttentionMode, masks: Masks, recorder: CallSink, stack: ExitStack) -> None:
        self._mode, self._masks, self._recorder, self._stack = mode, masks, recorder, stack
        self._is_attached = False

    def attach(self) -> None:
        """Record from now on what goes through the interface, if the program has imported transformers."""
        modeling = sys.modules.get("transformers.modeling_utils")
        if self._is_attached or modeling is None:
            return
        self._is_attached = True
        kind = getattr(modeling, "AttentionInterface", None)
        for name in ("__getitem__", "get_interface"):
            if (original := getattr(kind, name, None)) is not None:
                self._stack.enter_context(replaced(kind, name, self._lookup(original)))
        if not hasattr(kind, "get_interface"):
            self._recorder.leave_out(
                "this version of transformers calls its eager attention unseen; update it"
            )

    def _lookup(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method that finds what ``original`` finds, but recording."""

        @functools.wraps(original)
        def find(interface: Any, name: str, *args: Any, **kwargs: Any) -> Any:
            found = original(interface, name, *args, **kwargs)
            if torch.compiler.is_compiling() or not callable(found) or hasattr(found, _MARK):
                return found
            return self._recording(found, str(name))

        return find

    def _recording(self, attention: Callable[..., Any], backend: str) -> Callable[..., Any]:
        @functools.wraps(attention)
        def recorded(
            module: Any,
            query: Any,
            key: Any,
            value: Any,
            attention_mask: Any = None,
            *args: Any,
            **kwargs: Any,
        ) -> Any:
            with self._mode.within_interface() as inner:
                result = attention(module, query, key, value, attention_mask, *args, **kwargs)
            if any(word in backend for word in _MASKED_ELSEWHERE):
                self._recorder.leave_out(f"calls of {backend}, whose masks cannot be read, were not recorded")
            elif not torch.compiler.is_compiling():
                arguments = [Arguments(*given, **options) for given, options in inner]
                fits = len(arguments) == 1 and arguments[0].query.shape == query.shape
                own = arguments[0] if fits else None
                given = _AttentionArguments(module, query, key, value, attention_mask, kwargs, own, backend)
                self._mode.keep(
                    lambda: self._mode.scaled((query, key, value), *given.seen(result[0], self._masks))
                )
            return result

        setattr(recorded, _MARK, True)
        return recorded


@dataclass(frozen=True)
class _AttentionArguments:
    """What an attention function of transformers was given.

    ``inner`` is what PyTorch's attention was given by it in turn, whose scale and mask are what counts.
    """

    module: Any
    query: Any
    key: Any
    value: Any
    mask: Any
    options: dict[str, Any]
    inner: Arguments | None
    backend: str

    def seen(self, output: Any, masks: Masks) -> tuple[Call, LayerInfo]:
        """Return the call with this output, and what the module's configuration says.

        The output comes as [sequence, token, head, d], or with the last two as one.
        """
        query, key, value = self.query, self.key, self.value
        refuse_other(query, key, value, output)
        if self.inner is not None:
            split = masks.split(self.inner.attn_mask)
            scale, causal = self.inner.scale, self.inner.is_causal
        else:
            mask = self.mask if isinstance(self.mask, torch.Tensor | None) else visible(self.mask, query, key)
            split = added(masks.split(upto(mask, key.shape[2])), self.options.get("position_bias"))
            scale, causal = self.options.get("scaling"), False
        sinks, dropout = self.options.get("s_aux"), bool(self.options.get("dropout"))
        dropping = dropout and (self.module.training or self.inner is not None)
        output = output.reshape(*query.shape[:1], query.shape[2], query.shape[1], value.shape[-1])
        call = Call(
            query=query,
            key=key,
            value=value,
            output=None if dropping else output.transpose(1, 2),
            mask=split.seen,
            bias=split.bias,
            causal=bool(causal),
            scale=None if scale is None else float(scale),
            softcap=self.options.get("softcap"),
            sink=None if sinks is None else sinks.reshape(-1),
        )
        config = getattr(self.module, "config", None)
        return call, LayerInfo(
            backend=f"transformers, {self.backend}",
            intended=intention(self.module, config),
            width=width(config),
            padded=other_widths(config),
            notes=(DROPPED,) if dropping else (),
            mask=configured_mask(self.module, config),
        )


def intention(module: Any, config: Any) -> Intended | None:
    """Return the scale that an attention module was meant to apply; None means the usual 1/√d.

    Rotary positions of some types multiply queries and keys, as `transformers` computes from a configuration.
    """
    base, turned = _intention(module, config), _rotary(module, config)
    if turned == 1:
        return base
    said = f"rotary positions multiply queries and keys by {turned:.6g}"
    before = "1/sqrt(d)" if base is None else base.expression
    where = said if base is None else f"{base.where}; {said}"
    return Intended(f"{turned * turned!r}*({before})", "configuration", where)


def _rotary(module: Any, config: Any) -> float:
    """Return what rotary positions of this layer multiply queries and keys by; 1 where nothing says so."""
    rope, index = getattr(config, "rope_parameters", None), getattr(module, "layer_idx", None)
    kinds = getattr(config, "layer_types", None)
    kind = kinds[index] if kinds and isinstance(index, int) and index < len(kinds) else None
    nested = rope.get(kind) if isinstance(rope, dict) else None
    stated = nested if isinstance(nested, dict) else rope
    if not isinstance(stated, dict) or _number(config, "kv_lora_rank") is not None:
        return 1.0
    known = getattr(sys.modules.get("transformers.modeling_rope_utils"), "ROPE_INIT_FUNCTIONS", {})
    compute = known.get(stated.get("rope_type"))
    if compute is None or not hasattr(config, "standardize_rope_params"):
        return 1.0
    _, factor = compute(config, layer_type=kind) if stated is nested else compute(config)
    return float(factor)


def _intention(module: Any, config: Any) -> Intended | None:
    family = _family(module)
    kind = type(config).__name__
    if family in _UNSCALED:
        return Intended("1", "configuration", f"the family {family} does not scale its scores")
    if family in _OWN:
        return Intended(_OWN[family], "configuration", f"the family {family} has this scale")
    if (stated := _number(config, "query_pre_attn_scalar")) is not None:
        where = f"query_pre_attn_scalar = {stated!r} in {kind}"
        return Intended(f"{stated!r}**-0.5", "configuration", where)
    if (stated := _number(config, "attention_multiplier")) is not None:
        return Intended(repr(stated), "configuration", f"attention_multiplier = {stated!r} in {kind}")
    return _stretched(config, kind) or _by_layer(module, config, kind)


def width(config: Any) -> int | None:
    """Return the model's width D."""
    for name in ("hidden_size", "d_model"):
        if (stated := _number(config, name)) is not None:
            return int(stated)
    return None


def other_widths(config: Any) -> dict[str, int]:
    """Return widths that might be taken for d: those of latent attention, and hidden size over heads."""
    found = {}
    latent, rope, nope = (
        _number(config, name) for name in ("kv_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim")
    )
    if latent is not None and rope is not None:
        found["absorbed"] = int(latent + rope)
    if nope is not None:
        found["without rotary part"] = int(nope)
    heads, whole = _number(config, "num_attention_heads"), width(config)
    if heads and whole and int(whole) % int(heads) == 0:
        found["width over heads"] = int(whole) // int(heads)
    return found


def _family(module: Any) -> str:
    """Return the folder of transformers' models that a module's class comes from."""
    parts = type(module).__module__.split(".")
    return parts[2] if parts[:2] == ["transformers", "models"] and len(parts) > 2 else ""


def _number(config: Any, name: str) -> float | int | None:
    value = getattr(config, name, None)
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return value if is_number else None


def _stretched(config: Any, kind: str) -> Intended | None:
    """Return YaRN's scale in latent attention: m²/√d with m = 0.1 mscale_all_dim ln(factor) + 1.

    Source: DeepSeek-V2 and V3's published code; Peng et al. 2023, arXiv 2309.00071, eq. 22.
    """
    rope = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None)
    if not isinstance(rope, dict) or _number(config, "kv_lora_rank") is None:
        return None
    share, factor = rope.get("mscale_all_dim"), rope.get("factor")
    kind_of_rope = rope.get("rope_type", rope.get("type", "default"))
    if kind_of_rope == "default" or not share or not factor:
        return None
    m = 0.1 * share * math.log(factor) + 1 if factor > 1 else 1.0
    where = f"YaRN with mscale_all_dim = {share!r} and factor = {factor!r} in {kind}"
    return Intended(f"{m * m!r}/sqrt(d)", "configuration", where)


def _by_layer(module: Any, config: Any, kind: str) -> Intended | None:
    """Return GPT-2's scale, which may be none, or fall with the number of the layer."""
    own = "1" if getattr(config, "scale_attn_weights", True) is False else "d**-0.5"
    layer = getattr(module, "layer_idx", None)
    if getattr(config, "scale_attn_by_inverse_layer_idx", False) is True and isinstance(layer, int):
        where = f"scale_attn_by_inverse_layer_idx in {kind}, layer {layer}"
        return Intended(f"{own}/{layer + 1}", "configuration", where)
    return None if own != "1" else Intended(own, "configuration", f"scale_attn_weights = False in {kind}")
