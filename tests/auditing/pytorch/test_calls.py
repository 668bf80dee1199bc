"""Calls of PyTorch's attention in the arrangement of axes that an audit has."""

from __future__ import annotations

import math
from typing import Any

import pytest

import verify
from tests.auditing.pytorch.recorded import attention, deviation, only, torch
from verify.auditing.pytorch.calls import Arguments, attention_call, four, refuse_other
from verify.auditing.pytorch.masks import Masks
from verify.errors import RecordingError

functional = torch.nn.functional


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"is_causal": True},
        {"scale": 0.1},
        {"attn_mask": torch.ones(6, 6, dtype=torch.bool).tril()},
        {"attn_mask": torch.randn(2, 1, 6, 6)},
        {"attn_mask": torch.zeros(6, 6).masked_fill(torch.ones(6, 6, dtype=torch.bool).triu(1), -math.inf)},
        {"attn_mask": torch.zeros(6, 6).masked_fill(torch.ones(6, 6, dtype=torch.bool).triu(1), -3.4e38)},
        {"attn_mask": torch.zeros(1, 1, 1, 6).expand(2, 4, 6, 6)},
    ],
)
def test_arguments_as_they_are_given(options: dict[str, Any]) -> None:
    """The output follows from what is recorded, and is the one the program had."""
    attend = attention()
    wanted = attend(**options)
    with verify.record() as recording:
        got = attend(**options)
    assert torch.equal(wanted, got)
    call = only(recording)
    assert torch.equal(call.output, wanted)
    assert call.scale == options.get("scale")
    assert call.causal == options.get("is_causal", False)
    assert deviation(call) < 1e-6


def test_grouped_heads_and_other_ranks() -> None:
    """Keys keep their own number of heads; what has fewer axes has one sequence."""
    query, key = torch.randn(2, 6, 5, 8), torch.randn(2, 3, 5, 8)
    with verify.record() as recording:
        functional.scaled_dot_product_attention(query, key, key, enable_gqa=True)
    assert tuple(only(recording).key.shape) == (2, 3, 5, 8)
    assert deviation(only(recording)) < 1e-6
    for shape, wanted in [((6, 8), (1, 1, 6, 8)), ((3, 6, 8), (1, 3, 6, 8)), ((2, 3, 4, 6, 8), (6, 4, 6, 8))]:
        with verify.record() as recording:
            attention(*shape)()
        assert tuple(only(recording).query.shape) == wanted
        assert deviation(only(recording)) < 1e-6


def test_what_the_kernel_computes_in_under_autocast() -> None:
    """The dtype is the output's, not the one that the arguments have before the kernel."""
    with verify.record() as recording, torch.autocast("cpu", torch.bfloat16):
        attention()()
    call = only(recording)
    assert call.query.dtype == getattr(call.output, "dtype", None) == torch.bfloat16


def test_tensors_without_plain_numbers_are_named() -> None:
    """On the meta device there is nothing to record; the program goes on."""
    with (
        pytest.raises(RecordingError, match=r"could not be recorded .*has no plain numbers"),
        verify.record(),
    ):
        functional.scaled_dot_product_attention(*(torch.randn(1, 2, 4, 8, device="meta") for _ in range(3)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_tensors_inside_a_transformation_are_named() -> None:
    """They stand for many, and mean nothing outside it."""
    with pytest.raises(RecordingError, match="has no plain numbers"), verify.record():
        torch.func.vmap(lambda x: functional.scaled_dot_product_attention(x, x, x))(torch.randn(3, 2, 4, 8))


@pytest.mark.parametrize(
    ("shape", "wanted"),
    [
        ((6, 8), (1, 1, 6, 8)),
        ((3, 6, 8), (1, 3, 6, 8)),
        ((2, 3, 6, 8), (2, 3, 6, 8)),
        ((5, 2, 3, 6, 8), (10, 3, 6, 8)),
        ((4, 5, 2, 3, 6, 8), (40, 3, 6, 8)),
    ],
)
def test_axes_before_the_last_three_are_sequences(shape: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    """However many there are, the numbers stay in their order."""
    tensor = torch.randn(shape)
    found = four(tensor)
    assert tuple(found.shape) == wanted
    assert torch.equal(found.flatten(), tensor.flatten())
    assert four(None) is None


def test_keys_that_all_sequences_share_are_there_for_each() -> None:
    """As PyTorch broadcasts them, without a copy."""
    query, key = torch.randn(3, 2, 5, 8), torch.randn(1, 2, 7, 8)
    output = torch.nn.functional.scaled_dot_product_attention(query, key, key)
    call = attention_call(Arguments(query, key, key, scale=0.5), output, Masks())
    assert tuple(call.key.shape) == (3, 2, 7, 8)
    assert call.key.data_ptr() == key.data_ptr()
    assert (call.scale, call.causal, call.mask, call.bias) == (0.5, False, None, None)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.ones(2, 2, device="meta"),
        torch.ones(2, 2).to_sparse(),
        torch.nn.Parameter(torch.ones(2)).to("meta"),
    ],
)
def test_what_has_no_plain_numbers_is_refused(tensor: Any) -> None:
    """Whichever of the arrays it is; plain ones and parameters pass."""
    refuse_other(torch.ones(2), torch.nn.Parameter(torch.ones(2)))
    with pytest.raises(ValueError, match="has no plain numbers"):
        refuse_other(torch.ones(2), tensor)
