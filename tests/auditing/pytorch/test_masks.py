"""Masks as programs give them, as which keys may be seen and a bias."""

from __future__ import annotations

import math

import pytest

import verify
from tests.auditing.pytorch.recorded import attention, only, torch
from verify.auditing.pytorch.masks import Masks, Split, added, upto


def test_a_mask_that_is_added_is_split() -> None:
    """What hides keys is a mask, what is left a bias, and an axis that is repeated is kept once."""
    bias = torch.randn(6, 6)
    with verify.record() as recording:
        attention()(attn_mask=bias.masked_fill(torch.ones(6, 6, dtype=torch.bool).triu(1), -math.inf))
    call = only(recording)
    assert torch.equal(call.mask, torch.ones(6, 6, dtype=torch.bool).tril())
    assert torch.equal(call.bias, bias.tril())
    with verify.record() as recording:
        attention()(attn_mask=torch.zeros(1, 1, 1, 6).expand(2, 4, 6, 6))
    assert only(recording).mask is None
    assert only(recording).bias is None


HIDDEN = torch.tensor([[0.0, -math.inf, -3e4, -2.9e4]])


def test_low_numbers_hide_and_others_are_a_bias() -> None:
    """From -3e4 on; a bias of nothing but zeros is none, and so is a mask that hides nothing."""
    seen, bias = Masks().split(HIDDEN)
    assert seen.tolist() == [[True, False, False, True]]
    assert bias.tolist() == [[0.0, 0.0, 0.0, -29_000.0]]
    assert Masks().split(HIDDEN[:, :2]).bias is None
    assert Masks().split(torch.zeros(2, 2)) == (None, None)
    assert Masks().split(None) == (None, None)
    truth = torch.tensor([[True, False]])
    assert Masks().split(truth).seen is not None
    assert Masks().split(truth).bias is None


def test_only_repetitions_are_left_out() -> None:
    """An expanded axis has one entry; equal rows that are stored are as they are given."""
    expanded = torch.tensor([[1.0, 2.0]]).expand(3, 4, 5, 2)
    assert tuple(Masks().split(expanded).bias.shape) == (1, 1, 1, 2)
    assert tuple(Masks().split(expanded.contiguous()).bias.shape) == (3, 4, 5, 2)


def test_a_mask_that_layers_share_is_split_once() -> None:
    """Until it is written to, which its version says; without versions it is split each time."""
    masks, mask = Masks(), HIDDEN.clone()
    first = masks.split(mask)
    assert masks.split(mask) is first
    mask[0, 0] = -math.inf
    assert masks.split(mask).seen.tolist() == [[False, False, False, True]]
    assert masks.split(HIDDEN.clone()).seen.tolist() == [[True, False, False, True]]
    with torch.inference_mode():
        unversioned = HIDDEN.clone()
        again = masks.split(unversioned)
        assert masks.split(unversioned) is not again


@pytest.mark.parametrize(
    "split", [Split(), Split(seen=torch.tensor([[True, False]])), Split(bias=torch.ones(1, 2))]
)
def test_a_further_bias_is_added(split: Split) -> None:
    """What it hides is hidden too, the rest is added; without one all stays."""
    more = torch.tensor([[-math.inf, 2.0]])
    both = added(split, more)
    seen = torch.tensor([[False, True]])
    assert torch.equal(both.seen, seen if split.seen is None else seen & split.seen)
    assert both.bias.tolist() == ([[0.0, 2.0]] if split.bias is None else [[1.0, 3.0]])
    assert added(split, None) is split


def test_what_lies_beyond_the_last_key_is_cut_off() -> None:
    """Caches may be longer than their content; one entry for all keys stays."""
    mask = torch.arange(6.0).reshape(1, 6)
    assert upto(mask, 4).tolist() == [[0.0, 1.0, 2.0, 3.0]]
    for same in (mask, torch.ones(2, 1), torch.tensor(1.0), None):
        assert upto(same, 6) is same
    assert upto(torch.ones(2, 1), 0).shape == (2, 1)
