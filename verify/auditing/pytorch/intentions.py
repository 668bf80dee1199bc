"""What a module of PyTorch and its configuration say that its attention was meant to be.

Not all programs mean 1/√d: there are families of transformers without a scale, with a scale of their own, and
with queries that are scaled before the attention call.
"""

from __future__ import annotations

import math
from typing import Any

from verify.auditing.masks import configured_mask
from verify.auditing.recording import Intended, Layer
from verify.auditing.scales import DEFAULT

_FAMILIES = {
    # Weights, or a norm of queries and keys, have taken the scale up.
    **dict.fromkeys(
        [
            *("dia", "diffusion_gemma", "embedding_gemma2", "gemma3n", "gemma4", "gemma4_unified", "longt5"),
            *("mt5", "pix2struct", "pop2piano", "switch_transformers", "t5", "udop", "umt5"),
        ],
        ("1", "does not scale its scores"),
    ),
    # The call is then given 1.
    **dict.fromkeys(
        [
            *("audioflamingo3", "esm", "evolla", "kosmos2_5", "moss_transcribe_diarize"),
            *("openai_privacy_filter", "opt", "qwen2_audio", "timesfm", "timesfm2_5", "videoprism"),
            *("voxtral", "whisper"),
        ],
        ("1", "scales its queries before the call"),
    ),
    "inkling": ("1/d", "has this scale"),
    "zamba": ("(d/2)**-0.5", "has this scale"),
    "zamba2": ("(d/2)**-0.5", "has this scale"),
}
"""Families of transformers with a scale of their own in d, and what they do."""

_WIDTHS = (
    *("hidden_size", "d_model", "num_attention_heads"),
    *("kv_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim"),
)


def described(module: Any, backend: str, scale: float | None) -> Layer:
    """Return what a module, None outside any, and its configuration say of a call with this ``scale``."""
    config = getattr(module, "config", None)
    intended = intention(module, config)
    if intended is None and scale == 1:
        why = "the call was given scale 1, and queries may have been scaled before it"
        intended = Intended(DEFAULT, "unknown", why)
    widths = {name: number for name in _WIDTHS if (number := _number(config, name)) is not None}
    width = widths.get("hidden_size", widths.get("d_model", _number(module, "embed_dim")))
    # What might be taken for d: widths of latent attention, and hidden size over heads.
    padded = {}
    if {"kv_lora_rank", "qk_rope_head_dim"} <= widths.keys():
        padded["absorbed"] = int(widths["kv_lora_rank"] + widths["qk_rope_head_dim"])
    if widths.get("qk_nope_head_dim"):
        padded["without rotary part"] = int(widths["qk_nope_head_dim"])
    if width and (heads := widths.get("num_attention_heads")) and width % heads == 0:
        padded["width over heads"] = int(width // heads)
    mask = configured_mask(module, config)
    return Layer("", (), intended, None if width is None else int(width), backend, padded, mask=mask)


def intention(module: Any, config: Any) -> Intended | None:
    """Return the scale that a call of a module was meant to be given; None means the usual 1/√d."""
    parts, kind = type(module).__module__.split("."), type(config).__name__
    family = parts[2] if parts[:2] == ["transformers", "models"] and len(parts) > 2 else ""
    if family in _FAMILIES:
        expression, does = _FAMILIES[family]
        return Intended(expression, "configuration", f"the family {family} {does}")
    for name, form in (("query_pre_attn_scalar", "{!r}**-0.5"), ("attention_multiplier", "{!r}")):
        if (stated := _number(config, name)) is not None:
            return Intended(form.format(stated), "configuration", f"{name} = {stated!r} in {kind}")
    if (stretched := _stretched(config, kind)) is not None:
        return stretched
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
