"""The scale that a model of transformers was meant to have, read from its configuration."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

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
