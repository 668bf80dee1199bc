"""Models with a fault that is right in itself, planted in one layer: compared, it is found where it is."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

import verify
from tests.auditing.architectures import GROUPED, SEQ2SEQ, Architecture, build, inputs
from verify.evidence.comparisons import Agreement

torch = pytest.importorskip("torch", reason="needs the extra [transformers]")
transformers = pytest.importorskip("transformers", reason="needs the extra [transformers]")
pad = torch.nn.functional.pad

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


def _given(change: Callable[..., Any], of: Callable[[Any], Any] = _attention) -> Callable[[Any], Any]:
    """Return what lets a layer's attention be given other arguments, those with names first."""

    def plant(model: Any) -> None:
        module = of(model)
        forward = module.forward

        def changed(*args: Any, **kwargs: Any) -> Any:
            change(kwargs, *args)
            return forward(*args, **kwargs)

        module.forward = changed

    return plant


def _turned(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what lets a layer turn queries and keys by other cosines and sines."""
    name = "position_embeddings"
    return _given(lambda kwargs, *_: kwargs.update({name: tuple(map(change, kwargs[name]))}))


def _not_causal(model: Any) -> None:
    _attention(model).is_causal = False
    _given(lambda kwargs, *_: kwargs.update(attention_mask=None))(model)


def _narrow(kwargs: dict[str, Any], *_: Any) -> None:
    mask = kwargs["attention_mask"]
    tokens = mask.shape[-1]
    near = torch.ones(tokens, tokens, dtype=torch.bool).triu(-4)
    kwargs["attention_mask"] = mask & near if mask.dtype == torch.bool else mask.masked_fill(~near, -1e30)


def _show_padding(kwargs: dict[str, Any], *_: Any) -> None:
    kwargs["attention_mask"] = kwargs["attention_mask"][:1].expand_as(kwargs["attention_mask"])


def _cut_triangle(kwargs: dict[str, Any], hidden: Any, *_: Any) -> None:
    keys = kwargs["key_value_states"].shape[1]
    shown = torch.ones(hidden.shape[1], keys, dtype=torch.bool).tril()
    kwargs["attention_mask"] = shown.expand(len(hidden), 1, -1, -1)


def _roll_cache(kwargs: dict[str, Any], *_: Any) -> None:
    """Let the layer's rows come back from the cache in another order."""
    name = "cache" if "cache" in kwargs else "past_key_values"  # the name before transformers 5.24
    cache = kwargs[name]

    def update(key: Any, *args: Any, **more: Any) -> Any:
        rows = cache.update(key, *args, **more)
        return tuple(array.roll(1, dims=2) for array in rows) if key.shape[2] == 1 else rows

    kwargs[name] = SimpleNamespace(update=update)


def _scaled(name: str, factor: float, model: Any) -> None:
    getattr(_attention(model), name).weight.data.mul_(factor)


def _roll_key_head(model: Any) -> None:
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


FAULTS = {
    "decoder not causal": Fault(_not_causal, frozenset(["mask"])),
    "window of 5": Fault(_given(_narrow), frozenset(["mask"])),
    "padding is seen": Fault(_given(_show_padding), frozenset(["mask"])),
    "rotary layout": Fault(
        _turned(lambda angles: angles[..., : angles.shape[-1] // 2].repeat_interleave(2, -1)), frozenset("qk")
    ),
    "YaRN's factor in cos and sin": Fault(_turned(lambda angles: 1.139 * angles), frozenset("qk")),
    "positions one too far": Fault(_turned(lambda angles: angles.roll(1, dims=1)), frozenset("qk")),
    "wrong cache rows": Fault(_given(_roll_cache), frozenset("kv"), runs=(9, 1, 1)),
    "cross-attention made causal": Fault(
        _given(_cut_triangle, lambda model: model.decoder.layers[LAYER].encoder_attn),
        frozenset(["mask"]),
        _BART,
        layer=f"decoder.layers.{LAYER}.encoder_attn",
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
    "fused: last row lost": Fault(
        partial(_fused, lambda *given: pad(_attend(*given)[:, :, :-1], (0, 0, 0, 1))), frozenset(["out"])
    ),
    "fused: heads of keys in another order": Fault(
        partial(_fused, lambda q, k, v, mask: _attend(q, k[:, [0, 2, 1, 3]], v[:, [0, 2, 1, 3]], mask)),
        frozenset(["out"]),
    ),
    "queries times 1.1": Fault(partial(_scaled, "q_proj", 1.1), frozenset("q")),
    "values times 0.8": Fault(partial(_scaled, "v_proj", 0.8), frozenset("v")),
    "one head of keys in another order": Fault(_roll_key_head, frozenset("k")),
    "norm before the layer": Fault(
        lambda model: model.layers[LAYER].input_layernorm.weight.data.mul_(2), frozenset("x")
    ),
    "feed-forward of the layer before": Fault(
        lambda model: model.layers[LAYER - 1].mlp.down_proj.weight.data.mul_(1.5), frozenset("x")
    ),
}
"""Faults that are right in themselves: no audit of one recording sees them, but for those of kernels."""


# Everything in float32 or bfloat16 by turns; by hand, in the other one.
@pytest.mark.parametrize(
    "turn", [pytest.param(0, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.by_hand)]
)
def test_faults_that_are_right_in_themselves(turn: int) -> None:
    """Each is found in its layer, by its quantity, eager against another kernel."""
    assert len(FAULTS) >= 12
    for number, (name, fault) in enumerate(FAULTS.items(), turn):
        recordings = []
        for kind, is_planted in zip(fault.kinds, (False, True), strict=True):
            model = build(fault.model, kind).to((torch.float32, torch.bfloat16)[number % 2])
            if is_planted:
                fault.plant(model)
            cache: dict[str, Any] = {}
            with torch.no_grad(), verify.record(model, inputs=True) as recording:
                for step, tokens in enumerate(fault.runs, 1):
                    given = inputs(fault.model, tokens=tokens, seed=step)
                    if len(fault.runs) > 1:
                        given = {"input_ids": given["input_ids"], "use_cache": True, **cache}
                    made = model(**given)
                    name_of_cache = "cache" if "cache" in made else "past_key_values"  # as above
                    cache = {name_of_cache: made.get(name_of_cache)}
            recordings.append(recording)
        for interface in (transformers.AttentionInterface, transformers.AttentionMaskInterface):
            interface._global_mapping.pop("wrong_kernel", None)
        record = verify.compare_recordings(*recordings)
        first = record.differing[0]
        parts = frozenset(part.name for part in first.of(Agreement.DIFFERS))
        assert (name, first.name, parts) == (name, fault.layer, fault.expected)
        assert record.exit_status == 1
