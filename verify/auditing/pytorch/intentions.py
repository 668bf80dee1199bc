"""What a module of PyTorch and its configuration say that its attention was meant to be.

1/√d is no norm that all keep to: some families of transformers have no scale, some state one, and some scale
their queries before the attention call.
"""

from __future__ import annotations

import math
from typing import Any

from verify.auditing.masks import configured_mask
from verify.auditing.recording import Intended, Layer
from verify.auditing.scales import DEFAULT

_UNSCALED = frozenset(
    [
        *("dia", "diffusion_gemma", "embedding_gemma2", "gemma3n", "gemma4", "gemma4_unified", "longt5"),
        *("mt5", "pix2struct", "pop2piano", "switch_transformers", "t5", "udop", "umt5"),
    ]
)
"""Families whose scores are not scaled: their weights, or a norm of queries and keys, have taken it up."""

_SCALED_BEFORE = frozenset(
    [
        *("audioflamingo3", "esm", "evolla", "kosmos2_5", "moss_transcribe_diarize", "openai_privacy_filter"),
        *("opt", "qwen2_audio", "timesfm", "timesfm2_5", "videoprism", "voxtral", "whisper"),
    ]
)
"""Families that multiply their queries by the scale before the call, which is then given 1."""

_OWN = {"inkling": "1/d", "zamba": "(d/2)**-0.5", "zamba2": "(d/2)**-0.5"}
"""Families with a scale of their own in d."""


def described(module: Any, backend: str, scale: float | None = None, notes: tuple[str, ...] = ()) -> Layer:
    """Return what a module, None outside any, and its configuration say of a call with this ``scale``."""
    config = getattr(module, "config", None)
    intended = intention(module, config)
    if intended is None and scale == 1:
        why = "the call was given scale 1, and queries may have been scaled before it"
        intended = Intended(DEFAULT, "unknown", why)
    mask = configured_mask(module, config)
    return Layer("", (), intended, _width(config), backend, _other_widths(config), notes, mask=mask)


def intention(module: Any, config: Any) -> Intended | None:
    """Return the scale that a call of a module was meant to be given; None means the usual 1/√d."""
    parts, kind = type(module).__module__.split("."), type(config).__name__
    family = parts[2] if parts[:2] == ["transformers", "models"] and len(parts) > 2 else ""
    if family in _UNSCALED:
        return Intended("1", "configuration", f"the family {family} does not scale its scores")
    if family in _SCALED_BEFORE:
        return Intended("1", "configuration", f"the family {family} scales its queries before the call")
    if family in _OWN:
        return Intended(_OWN[family], "configuration", f"the family {family} has this scale")
    if (stated := _number(config, "query_pre_attn_scalar")) is not None:
        where = f"query_pre_attn_scalar = {stated!r} in {kind}"
        return Intended(f"{stated!r}**-0.5", "configuration", where)
    if (stated := _number(config, "attention_multiplier")) is not None:
        return Intended(repr(stated), "configuration", f"attention_multiplier = {stated!r} in {kind}")
    return _stretched(config, kind) or _by_layer(module, config, kind)


def _width(config: Any) -> int | None:
    """Return the model's width D."""
    for name in ("hidden_size", "d_model"):
        if (stated := _number(config, name)) is not None:
            return int(stated)
    return None


def _other_widths(config: Any) -> dict[str, int]:
    """Return widths that might be taken for d: those of latent attention, and hidden size over heads."""
    found = {}
    latent, rope, nope = (
        _number(config, name) for name in ("kv_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim")
    )
    if latent is not None and rope is not None:
        found["absorbed"] = int(latent + rope)
    if nope is not None:
        found["without rotary part"] = int(nope)
    heads, whole = _number(config, "num_attention_heads"), _width(config)
    if heads and whole and int(whole) % int(heads) == 0:
        found["width over heads"] = int(whole) // int(heads)
    return found


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
