"""Calls of PyTorch's attention as an audit has them, and what the modules that make them say was meant.

A function that returns a call takes the output first, then the arguments that the program gave. Not all
programs mean 1/√d: there are families of transformers without a scale, with a scale of their own, and with
queries that are scaled before the call.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch.nn.attention.flex_attention import create_mask

from verify.auditing.masks import configured_mask
from verify.auditing.recording import Call, Intended, Layer
from verify.auditing.scales import DEFAULT

HIDES = -3e4
"""What is added to a score to hide a key: -inf, or a number as low as half of float16's lowest.

exp(-3e4) is 0 in every dtype, so such keys take no part unless a row has no others.
"""


class Arguments(NamedTuple):
    """What ``scaled_dot_product_attention`` was given, under the names of its parameters."""

    query: Any
    key: Any
    value: Any
    attn_mask: Any = None
    dropout_p: float = 0.0
    is_causal: bool = False
    scale: float | None = None
    enable_gqa: bool = False


def is_plain(tensor: Any) -> bool:
    """Return whether a tensor holds its own numbers: no subclass, not nested, not inside a transformation."""
    return (
        type(tensor) in {torch.Tensor, torch.nn.Parameter}
        and tensor.layout == torch.strided
        and not tensor.is_nested
        and not tensor.is_meta
        and not torch._C._functorch.is_functorch_wrapped_tensor(tensor)
    )


def split_mask(mask: Any, added: Any = None) -> tuple[Any, Any]:
    """Return what a mask and an ``added`` bias say: which keys are seen, and what is added to scores.

    Both are tensors that are broadcast to the scores, None where all keys are seen or nothing is added. An
    axis along which a mask is expanded has size 1.
    """
    seen = bias = None
    for given in (mask, added):
        if given is None:
            continue
        part = given.detach()
        for axis, (size, stride) in enumerate(zip(given.shape, given.stride(), strict=True)):
            part = part.narrow(axis, 0, 1) if size > 1 and stride == 0 else part
        shown = part if part.dtype == torch.bool else part > HIDES
        if not bool(shown.all()):
            seen = shown if seen is None else seen & shown
        if part.dtype != torch.bool:
            rest = part.masked_fill(~shown, 0)
            if bool((rest != 0).any()):
                bias = rest if bias is None else bias + rest
    return seen, bias


def attention_call(output: Any, *args: Any, added: Any = None, **named: Any) -> Call:
    """Return the call of ``scaled_dot_product_attention``; ``added`` is a bias beside its mask.

    Raises:
        ValueError: the numbers of a tensor cannot be read.
    """
    given = Arguments(*args, **named)
    arrays = (*given[:3], output)
    for tensor in arrays:
        if not is_plain(tensor):
            raise ValueError(f"a {type(tensor).__name__} has no plain numbers")
    seen, bias = split_mask(given.attn_mask, added)
    # PyTorch may leave out the first axes of [sequence, head, token, d].
    query, key, value, output = (part.reshape((1,) * (4 - part.dim()) + tuple(part.shape)) for part in arrays)
    # Keys of one sequence may serve all; and under autocast the kernel computes in the output's type.
    key, value = (part.expand(len(query), -1, -1, -1) if len(part) == 1 else part for part in (key, value))
    query, key, value = (part.to(output.dtype) for part in (query, key, value))
    return Call(
        query=query,
        key=key,
        value=value,
        output=None if given.dropout_p > 0 else output,
        mask=seen,
        bias=bias,
        causal=bool(given.is_causal),
        scale=None if given.scale is None else float(given.scale),
    )


def _block_mask_seen(block_mask: Any, query: Any, key: Any) -> Any:
    """Return which keys a block mask of flex attention shows, None where it is no such mask."""
    rule = getattr(block_mask, "mask_mod", None)
    return None if rule is None else create_mask(rule, *query.shape[:3], key.shape[2], device=query.device)


def flex_call(
    output: Any,
    query: Any,
    key: Any,
    value: Any,
    score_mod: Any = None,
    block_mask: Any = None,
    scale: float | None = None,
    *_others: Any,
    **_named: Any,
) -> Call:
    """Return the call of ``flex_attention``.

    Raises:
        ValueError: a score function changes its scores, in ways that a call does not say.
    """
    if score_mod is not None:
        raise ValueError("its score function is not read")
    mask = _block_mask_seen(block_mask, query, key)
    return attention_call(output, query, key, value, mask, scale=scale)


def interface_call(
    output: Any, asked: Arguments, inside: Sequence[Arguments], options: Mapping[str, Any]
) -> Call:
    """Return the call of an attention function of transformers that was ``asked`` with these ``options``.

    What PyTorch's attention was given ``inside`` is what counts, if it was given all queries at once, but for
    keys and values, which may have been repeated for it.
    """
    query, key, value, mask, *_ = asked
    added = None
    if len(inside) == 1 and inside[0].query.shape == query.shape:
        given = inside[0]._replace(query=query, key=key, value=value)
    else:
        added = options.get("position_bias")
        if not isinstance(mask, torch.Tensor | None):
            mask = _block_mask_seen(mask, query, key)
        elif mask is not None and mask.dim() and mask.shape[-1] > key.shape[2] > 0:
            mask = mask[..., : key.shape[2]]  # caches may be longer than their content
        given = asked._replace(attn_mask=mask)
    # Its shape is [sequence, token, head, d], or its last two axes are one.
    output = output.reshape(len(query), query.shape[2], query.shape[1], value.shape[-1])
    call, sinks = attention_call(output.transpose(1, 2), *given, added=added), options.get("s_aux")
    return replace(call, softcap=options.get("softcap"), sink=None if sinks is None else sinks.reshape(-1))


_FAMILIES = {
    # Weights, or a norm of queries and keys, have taken the scale up.
    ("1", "does not scale its scores"): (
        "dia diffusion_gemma embedding_gemma2 gemma3n gemma4 gemma4_unified longt5 mt5 pix2struct pop2piano "
        "switch_transformers t5 udop umt5"
    ),
    # The call is then given 1.
    ("1", "scales its queries before the call"): (
        "audioflamingo3 esm evolla kosmos2_5 moss_transcribe_diarize openai_privacy_filter opt qwen2_audio "
        "timesfm timesfm2_5 videoprism voxtral whisper"
    ),
    ("1/d", "has this scale"): "inkling",
    ("(d/2)**-0.5", "has this scale"): "zamba zamba2",
}
"""Scales of their own in d, what families of transformers do that have them, and these families."""

_WIDTHS = ("hidden_size", "d_model", "kv_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim")


def described(module: Any, backend: str, scale: float | None) -> Layer:
    """Return what a module, None outside any, and its configuration say of a call with this ``scale``."""
    config = getattr(module, "config", None)
    intended = intention(module, config)
    if intended is None and scale == 1:
        why = "the call was given scale 1, and queries may have been scaled before it"
        intended = Intended(DEFAULT, "unknown", why)
    widths = {name: int(number) for name in _WIDTHS if (number := _number(config, name)) is not None}
    width = widths.get("hidden_size", widths.get("d_model", _number(module, "embed_dim")))
    # What might be taken for d: widths of latent attention.
    padded = {}
    if {"kv_lora_rank", "qk_rope_head_dim"} <= widths.keys():
        padded["absorbed"] = widths["kv_lora_rank"] + widths["qk_rope_head_dim"]
    if widths.get("qk_nope_head_dim"):
        padded["without rotary part"] = widths["qk_nope_head_dim"]
    mask = configured_mask(module, config)
    return Layer("", (), intended, None if width is None else int(width), backend, padded, mask=mask)


def intention(module: Any, config: Any) -> Intended | None:
    """Return the scale that a call of a module was meant to be given; None means the usual 1/√d."""
    parts, kind = type(module).__module__.split("."), type(config).__name__
    family = parts[2] if parts[:2] == ["transformers", "models"] and len(parts) > 2 else ""
    for (expression, does), families in _FAMILIES.items():
        if family in families.split():
            return Intended(expression, "configuration", f"the family {family} {does}")
    for name, form in (("query_pre_attn_scalar", "{!r}**-0.5"), ("attention_multiplier", "{!r}")):
        if (stated := _number(config, name)) is not None:
            return Intended(form.format(stated), "configuration", f"{name} = {stated!r} in {kind}")
    # YaRN's scale in latent attention is m²/√d with m = 0.1 mscale_all_dim ln(factor) + 1: DeepSeek-V2's and
    # V3's published code; Peng et al. 2023, arXiv 2309.00071, eq. 22.
    rope = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None)
    if isinstance(rope, dict) and _number(config, "kv_lora_rank") is not None:
        share, factor = rope.get("mscale_all_dim"), rope.get("factor")
        if rope.get("rope_type", rope.get("type", "default")) != "default" and share and factor:
            m = 0.1 * share * math.log(factor) + 1 if factor > 1 else 1.0
            where = f"YaRN with mscale_all_dim = {share!r} and factor = {factor!r} in {kind}"
            return Intended(f"{m * m!r}/sqrt(d)", "configuration", where)
    # GPT-2's may be none, or fall with the number of the layer.
    own = "1" if getattr(config, "scale_attn_weights", True) is False else "d**-0.5"
    layer = getattr(module, "layer_idx", None)
    if getattr(config, "scale_attn_by_inverse_layer_idx", False) is True and isinstance(layer, int):
        where = f"scale_attn_by_inverse_layer_idx in {kind}, layer {layer}"
        return Intended(f"{own}/{layer + 1}", "configuration", where)
    return None if own != "1" else Intended(own, "configuration", f"scale_attn_weights = False in {kind}")


def _number(config: Any, name: str) -> float | int | None:
    value = getattr(config, name, None)
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return value if is_number else None
