"""Calls are kept within limits, and what is not kept is counted."""

from __future__ import annotations

import pytest

import verify
from tests.auditing.pytorch.recorded import only, torch
from verify.errors import RecordingError

functional = torch.nn.functional


def test_limits() -> None:
    """The first sequences are kept, and what is not is counted."""
    layer = torch.nn.MultiheadAttention(8, 2)
    x = torch.randn(5, 4, 8)
    with verify.record(layer, max_sequences=6) as recording:
        for _ in range(4):
            layer(x, x, x)
    assert [call.query.shape[0] for call in recording.layers[0].calls] == [4, 2]
    changing, limited = recording.layers[0].notes
    assert changing.startswith("gradients were wanted, so that weights may have changed between the calls")
    assert limited == "came after the first 6 sequences and were left out (2 calls)"
    one = 4 * 4 * 5 * 8 * 4
    with verify.record(layer, max_bytes=one) as recording:
        layer(x, x, x)
        layer(x, x, x)
    assert len(list(recording.layers[0].calls)) == 1
    with (
        pytest.raises(RecordingError, match=f"would have more than {one - 1} bytes"),
        verify.record(max_bytes=one - 1),
    ):
        layer(x, x, x)


def test_steps_of_generation_are_no_new_sequences() -> None:
    """A query that goes on with the keys of the call before is of the same sequence."""
    layer = torch.nn.Module()
    q, k = torch.randn(2, 2, 9, 4), torch.randn(2, 2, 9, 4)
    layer.forward = lambda m, n: functional.scaled_dot_product_attention(
        q[:, :, m:n], k[:, :, :n], k[:, :, :n]
    )
    with verify.record(layer) as recording:
        for m, n in [(0, 5), (5, 6), (6, 7), (7, 9)]:
            layer(m, n)
    assert [call.query.shape[2] for call in recording.layers[0].calls] == [5]
    assert recording.layers[0].notes[0].startswith("continued sequences that were seen before")
    # A probe of one query is no step: it is of other sequences each time.
    with verify.record(layer) as recording:
        for _ in range(3):
            q, k = torch.randn(2, 2, 1, 4), torch.randn(2, 2, 9, 4)
            layer(0, 9)
    assert len(list(recording.layers[0].calls)) == 3


def test_what_the_program_changes_later_stays_as_it_was() -> None:
    """Caches are written to in place."""
    x = torch.ones(1, 1, 3, 4)
    with verify.record() as recording:
        functional.scaled_dot_product_attention(x, x, x)
        x.zero_()
    assert torch.equal(only(recording).query, torch.ones(1, 1, 3, 4))
