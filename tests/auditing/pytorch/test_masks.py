"""Masks as programs give them, as which keys may be seen and a bias."""

from __future__ import annotations

import math

import verify
from tests.auditing.pytorch.recorded import attention, only, torch


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
