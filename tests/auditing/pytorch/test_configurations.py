"""The scale that a model of transformers was meant to have, read from its configuration."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from verify.auditing.intention import scale_expression
from verify.auditing.pytorch.configurations import intention, other_widths, width


def config(**options: Any) -> SimpleNamespace:
    """Return a configuration."""
    return SimpleNamespace(**options)


@pytest.mark.parametrize(
    ("options", "expression"),
    [
        ({}, None),
        ({"query_pre_attn_scalar": 224}, "224**-0.5"),
        ({"attention_multiplier": 0.25}, "0.25"),
        ({"attention_multiplier": True}, None),
        ({"scale_attn_weights": False}, "1"),
        ({"scale_attn_by_inverse_layer_idx": True}, "d**-0.5/3"),
        ({"kv_lora_rank": 8, "rope_parameters": {"rope_type": "yarn", "factor": 4.0}}, None),
        ({"rope_parameters": {"rope_type": "yarn", "mscale_all_dim": 1, "factor": 4.0}}, None),
        (
            {"kv_lora_rank": 8, "rope_scaling": {"type": "yarn", "mscale_all_dim": 1, "factor": 1}},
            "1.0/sqrt(d)",
        ),
    ],
)
def test_what_a_configuration_says(options: dict[str, Any], expression: str | None) -> None:
    """A number under a known name, else nothing, which stands for 1/√d."""
    found = intention(SimpleNamespace(layer_idx=2), config(**options))
    assert (None if found is None else found.expression) == expression
    if found is not None:
        assert found.origin == "configuration"
        assert "SimpleNamespace" in found.where


def test_widths() -> None:
    """Those that might be taken for d have names."""
    latent = config(
        hidden_size=64, num_attention_heads=4, kv_lora_rank=512, qk_rope_head_dim=64, qk_nope_head_dim=128
    )
    assert width(latent) == 64
    assert width(config(d_model=32)) == 32
    assert width(None) is None
    assert other_widths(latent) == {"absorbed": 576, "without rotary part": 128, "width over heads": 16}


def module_of(family: str, name: str = "Attention") -> Any:
    """Return a module whose class comes from a family of transformers' models."""
    return type(name, (), {"__module__": f"transformers.models.{family}.modeling_{family}"})()


@pytest.mark.parametrize(
    ("family", "name", "expression"),
    [
        ("t5", "T5Attention", "1"),
        ("whisper", "WhisperAttention", "1"),
        ("whisper", "WhisperEncoderAttention", None),
        ("zamba2", "Zamba2Attention", "(d/2)**-0.5"),
        ("llama", "LlamaAttention", None),
    ],
)
def test_families_with_a_scale_of_their_own(family: str, name: str, expression: str | None) -> None:
    """None at all, one before the call in modules of one name, or another power of d."""
    found = intention(module_of(family, name), config())
    assert (found and found.expression) == expression
    if found:
        assert family in found.where or name in found.where
        assert scale_expression(found.expression).value(d=64) > 0


def test_a_class_of_a_users_own_is_of_no_family() -> None:
    """Although it is called like one."""
    module = type("T5Attention", (), {"__module__": "my.models.t5"})()
    assert intention(module, config()) is None


@pytest.mark.parametrize(("factor", "share"), [(4.0, 1.0), (40.0, 0.707), (0.5, 1.0)])
def test_the_scale_of_yarn_is_that_of_its_source(factor: float, share: float) -> None:
    """m²/√d with m = 0.1·share·ln(factor) + 1, as published for DeepSeek's models; 1/√d where it shortens."""
    rope = {"rope_type": "yarn", "mscale_all_dim": share, "factor": factor}
    found = intention(SimpleNamespace(), config(kv_lora_rank=512, rope_parameters=rope))
    assert found is not None
    m = 0.1 * share * math.log(max(factor, 1)) + 1
    assert scale_expression(found.expression).value(d=192) == pytest.approx(m * m * 192**-0.5)


def test_numbers_that_are_none_are_not_taken() -> None:
    """Texts, truth values and what is not finite say nothing of a scale or width."""
    for value in ("64", True, math.nan, math.inf, None, [64]):
        assert intention(SimpleNamespace(), config(query_pre_attn_scalar=value)) is None
        assert width(config(hidden_size=value)) is None
    assert other_widths(config(hidden_size=65, num_attention_heads=4)) == {}
    assert other_widths(None) == {}
