"""Small models of transformers with a fault that is right in itself, planted in one layer, to compare."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import transformers

import verify
from tests.auditing.architectures import GROUPED, SEQ2SEQ, Architecture, build, inputs
from verify.auditing.recording import Recording

LAYER = 1
_SIZES = GROUPED | {"num_hidden_layers": 3, "head_dim": 8}
_LLAMA = Architecture("Llama", _SIZES)
_SINKS = Architecture("GptOss", _SIZES | {"num_local_experts": 2, "num_experts_per_tok": 1})
_BART = Architecture("Bart", SEQ2SEQ | {"encoder_layers": 3, "decoder_layers": 3}, "both")


@dataclass(frozen=True)
class Fault:
    """A fault: what plants it in a model, and which quantities of which layer it changes first.

    ``runs`` are the numbers of tokens that the model is given one after the other, several with a cache.
    """

    plant: Callable[[Any], Any]
    expected: frozenset[str]
    model: Architecture = _LLAMA
    kinds: tuple[str, str] = ("eager", "sdpa")
    layer: str = f"layers.{LAYER}.self_attn"
    runs: tuple[int, ...] = (12,)


def _attention(model: Any) -> Any:
    return model.layers[LAYER].self_attn


def _given(model: Any, change: Callable[[dict[str, Any]], Any]) -> None:
    """Let a layer's attention be given other arguments."""
    module = _attention(model)
    forward = module.forward

    def changed(*args: Any, **kwargs: Any) -> Any:
        change(kwargs)
        return forward(*args, **kwargs)

    module.forward = changed


def _turned(change: Callable[[Any], Any], model: Any) -> None:
    """Let a layer turn queries and keys by other cosines and sines."""

    def turn(kwargs: dict[str, Any]) -> None:
        kwargs["position_embeddings"] = tuple(map(change, kwargs["position_embeddings"]))

    _given(model, turn)


def _interleaved(angles: Any) -> Any:
    return angles[..., : angles.shape[-1] // 2].repeat_interleave(2, dim=-1)


def _not_causal(model: Any) -> None:
    _attention(model).is_causal = False
    _given(model, lambda kwargs: kwargs.update(attention_mask=None))


def _window(model: Any) -> None:
    def narrow(kwargs: dict[str, Any]) -> None:
        mask = kwargs["attention_mask"]
        tokens = mask.shape[-1]
        near = torch.ones(tokens, tokens, dtype=torch.bool).triu(-4)
        kwargs["attention_mask"] = mask & near if mask.dtype == torch.bool else mask.masked_fill(~near, -1e30)

    _given(model, narrow)


def _padding_seen(model: Any) -> None:
    def show(kwargs: dict[str, Any]) -> None:
        kwargs["attention_mask"] = kwargs["attention_mask"][:1].expand_as(kwargs["attention_mask"])

    _given(model, show)


class _Rolled:
    """A cache that gives back one layer's rows in another order."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def update(self, key: Any, value: Any, layer: int, *args: Any, **kwargs: Any) -> Any:
        rows = self._cache.update(key, value, layer, *args, **kwargs)
        return tuple(array.roll(1, dims=2) for array in rows) if key.shape[2] == 1 else rows


def _wrong_rows(model: Any) -> None:
    def roll(kwargs: dict[str, Any]) -> None:
        name = "cache" if "cache" in kwargs else "past_key_values"  # the name before transformers 5.24
        kwargs[name] = _Rolled(kwargs[name])

    _given(model, roll)


def _causal_across(model: Any) -> None:
    module = model.decoder.layers[LAYER].encoder_attn
    forward = module.forward

    def changed(hidden: Any, *args: Any, **kwargs: Any) -> Any:
        keys = kwargs["key_value_states"].shape[1]
        shown = torch.ones(hidden.shape[1], keys, dtype=torch.bool).tril()
        kwargs["attention_mask"] = shown.expand(len(hidden), 1, -1, -1)
        return forward(hidden, *args, **kwargs)

    module.forward = changed


def _scaled(name: str, factor: float, model: Any) -> None:
    getattr(_attention(model), name).weight.data.mul_(factor)


def _one_head(model: Any) -> None:
    _attention(model).k_proj.weight.data[8:16] = _attention(model).k_proj.weight.data[8:16].roll(1, dims=0)


def _fused(wrong: Callable[[Any, Any, Any, Any], Any], model: Any) -> None:
    """Let one layer's attention be computed by a kernel that is wrong."""
    module = _attention(model)

    def kernel(asked: Any, query: Any, key: Any, value: Any, mask: Any, **_options: Any) -> Any:
        key, value = (array.repeat_interleave(2, dim=1) for array in (key, value))
        attend = wrong if asked is module else _attend
        return attend(query, key, value, mask).transpose(1, 2).contiguous(), None

    transformers.AttentionInterface.register("wrong_kernel", kernel)
    transformers.AttentionMaskInterface.register("wrong_kernel", transformers.masking_utils.sdpa_mask)
    model.config._attn_implementation = "wrong_kernel"


def _attend(query: Any, key: Any, value: Any, mask: Any) -> Any:
    return torch.nn.functional.scaled_dot_product_attention(query, key, value, mask)


def _last_row_lost(query: Any, key: Any, value: Any, mask: Any) -> Any:
    out = _attend(query, key, value, mask)
    out[:, :, -1] = 0
    return out


def _tiled_heads(query: Any, key: Any, value: Any, mask: Any) -> Any:
    order = [0, 2, 1, 3]
    return _attend(query, key[:, order], value[:, order], mask)


FAULTS = {
    "decoder not causal": Fault(_not_causal, frozenset(["mask"])),
    "window of 5": Fault(_window, frozenset(["mask"])),
    "padding is seen": Fault(_padding_seen, frozenset(["mask"])),
    "rotary layout": Fault(partial(_turned, _interleaved), frozenset("qk")),
    "YaRN's factor in cos and sin": Fault(partial(_turned, lambda angles: 1.139 * angles), frozenset("qk")),
    "positions one too far": Fault(partial(_turned, lambda angles: angles.roll(1, dims=1)), frozenset("qk")),
    "wrong cache rows": Fault(_wrong_rows, frozenset("kv"), runs=(9, 1, 1)),
    "cross-attention made causal": Fault(
        _causal_across, frozenset(["mask"]), _BART, layer=f"decoder.layers.{LAYER}.encoder_attn"
    ),
    "dropped sinks": Fault(
        lambda model: _attention(model).sinks.data.fill_(-1e4),
        frozenset(["sink"]),
        _SINKS,
        kinds=("eager", "eager"),
    ),
    "scale 2% too large": Fault(
        lambda model: setattr(_attention(model), "scaling", 1.02 * _attention(model).scaling),
        frozenset(["scale"]),
    ),
    "fused: last row lost": Fault(partial(_fused, _last_row_lost), frozenset(["out"])),
    "fused: heads of keys in another order": Fault(partial(_fused, _tiled_heads), frozenset(["out"])),
    "queries times 1.1": Fault(partial(_scaled, "q_proj", 1.1), frozenset("q")),
    "values times 0.8": Fault(partial(_scaled, "v_proj", 0.8), frozenset("v")),
    "one head of keys in another order": Fault(_one_head, frozenset("k")),
    "norm before the layer": Fault(
        lambda model: model.layers[LAYER].input_layernorm.weight.data.mul_(2), frozenset("x")
    ),
    "feed-forward of the layer before": Fault(
        lambda model: model.layers[LAYER - 1].mlp.down_proj.weight.data.mul_(1.5), frozenset("x")
    ),
}
"""Faults that are right in themselves: no audit of one recording sees them, but for those of kernels."""


@contextmanager
def _kernels() -> Iterator[None]:
    yield
    for interface in (transformers.AttentionInterface, transformers.AttentionMaskInterface):
        interface._global_mapping.pop("wrong_kernel", None)


def pair(fault: Fault, dtype: Any) -> tuple[Recording, Recording]:
    """Return recordings of a model and of the same with the fault, by another kernel, of the same inputs."""
    recordings = []
    with _kernels(), torch.no_grad():
        for kind, is_planted in zip(fault.kinds, (False, True), strict=True):
            model = build(fault.model, kind).to(dtype)
            if is_planted:
                fault.plant(model)
            with verify.record(model, inputs=True) as recording:
                _run(model, fault)
            recordings.append(recording)
    return recordings[0], recordings[1]


def _run(model: Any, fault: Fault) -> None:
    if len(fault.runs) == 1:
        model(**inputs(fault.model, tokens=fault.runs[0], seed=1))
        return
    cache: dict[str, Any] = {}
    torch.manual_seed(1)
    for tokens in fault.runs:
        made = model(input_ids=torch.randint(3, 64, (4, tokens)), use_cache=True, **cache)
        name = "cache" if "cache" in made else "past_key_values"  # the name before transformers 5.24
        cache = {name: made[name]}
