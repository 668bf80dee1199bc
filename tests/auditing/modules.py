"""Faults planted in the attention of a real model of transformers, which is recorded and audited.

The model runs unchanged but for its attention function, which is registered as a backend of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import (
    AttentionInterface,
    AttentionMaskInterface,
    Gemma2Config,
    Gemma2Model,
    LlamaConfig,
    LlamaModel,
)
from transformers.masking_utils import eager_mask

import verify
from verify.evidence.audits import AuditRecord

NAME = "planted"
HEADS, KEY_HEADS, WIDTH = 4, 2, 16


@dataclass(frozen=True)
class Kernel:
    """Eager attention, step by step, each of which a fault may replace."""

    scale: Callable[[Any, float], float] = lambda _q, given: given
    repeat: Callable[[Any, int], Any] = lambda array, groups: array.repeat_interleave(groups, 1)
    capped: Callable[[Any, float | None], Any] = lambda scores, cap: (
        scores if cap is None else cap * torch.tanh(scores / cap)
    )
    masked: Callable[[Any, Any, float], Any] = lambda scores, mask, _scale: scores + mask
    axis: int = -1
    after: Callable[[Any, float], Any] = lambda weights, _scale: weights

    def __call__(
        self,
        module: Any,
        query: Any,
        key: Any,
        value: Any,
        attention_mask: Any,
        scaling: float = 1.0,
        **kwargs: Any,
    ) -> tuple[Any, Any]:
        """Attend as transformers asks its backends to."""
        del module
        groups = query.shape[1] // key.shape[1]
        key, value = self.repeat(key, groups), self.repeat(value, groups)
        scale = self.scale(query, scaling)
        scores = self.capped(query @ key.transpose(2, 3) * scale, kwargs.get("softcap"))
        scores = self.masked(scores, attention_mask[..., : key.shape[2]], scaling)
        weights = torch.softmax(scores, self.axis, dtype=torch.float32).to(query.dtype)
        return (self.after(weights, scaling) @ value).transpose(1, 2).contiguous(), weights


@dataclass(frozen=True)
class Planted:
    """A faulty kernel, the finding that must refute it, and what its cause must say."""

    what: str
    kernel: Kernel
    kind: str
    named: str
    model: str = "llama"
    options: dict[str, Any] = field(default_factory=dict)


def _one_more(scores: Any, mask: Any, _scale: float) -> Any:
    """Hide keys from the second after a query's own on."""
    return scores + torch.full_like(mask, torch.finfo(mask.dtype).min).triu(2)


PLANTED = (
    Planted("scaled twice", Kernel(scale=lambda q, given: given * q.shape[-1] ** -0.5), "scale", "twice"),
    Planted("no scale", Kernel(scale=lambda *_: 1.0), "scale", "no scale is applied"),
    Planted(
        "width of all heads",
        Kernel(scale=lambda q, _: (q.shape[1] * q.shape[-1]) ** -0.5),
        "scale",
        "width",
    ),
    Planted(
        "configured scale ignored",
        Kernel(scale=lambda q, _: q.shape[-1] ** -0.5),
        "scale",
        "default 1/√d_k",
        "gemma2",
        {"query_pre_attn_scalar": 24},
    ),
    Planted(
        "soft-cap lost",
        Kernel(capped=lambda scores, _: scores),
        "formula",
        "soft-cap is lost",
        "gemma2",
        {"attn_logit_softcapping": 1.0},
    ),
    Planted(
        "scale after the softmax",
        Kernel(scale=lambda *_: 1.0, after=lambda weights, scale: scale * weights),
        "formula",
        "after the softmax",
    ),
    Planted("mask lost", Kernel(masked=lambda scores, *_: scores), "formula", "mask is not applied"),
    Planted("mask off by one", Kernel(masked=_one_more), "formula", "causal and off by one"),
    Planted("softmax over the queries", Kernel(axis=-2), "formula", "over the queries"),
    Planted("softmax over the heads", Kernel(axis=1), "formula", "over the heads"),
    Planted(
        "grouped heads interleaved",
        Kernel(repeat=lambda array, groups: array.repeat(1, groups, 1, 1)),
        "formula",
        "tiled",
    ),
)


def model_of(kernel: Kernel, name: str, dtype: Any, **options: Any) -> Any:
    """Return a small model with this kernel for its attention."""
    AttentionInterface.register(NAME, kernel)
    AttentionMaskInterface.register(NAME, eager_mask)
    torch.manual_seed(3)
    config, model = {"llama": (LlamaConfig, LlamaModel), "gemma2": (Gemma2Config, Gemma2Model)}[name]
    sizes = {
        "hidden_size": 64,
        "num_hidden_layers": 1,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KEY_HEADS,
        "head_dim": WIDTH,
        "intermediate_size": 96,
        "vocab_size": 99,
        # Large enough for scores that differ by about 1.
        "initializer_range": 0.15,
        "attn_implementation": NAME,
    }
    return model(config(**{**sizes, **options})).to(dtype).eval()


def audited(kernel: Kernel, name: str, dtype: Any, **options: Any) -> AuditRecord:
    """Return the audit of one forward pass of a model with this kernel."""
    model = model_of(kernel, name, dtype, **options)
    tokens = torch.randint(0, 99, (2, 64), generator=torch.Generator().manual_seed(1))
    with torch.no_grad(), verify.record(model) as recording:
        model(input_ids=tokens)
    return verify.audit(recording, workers=1)
