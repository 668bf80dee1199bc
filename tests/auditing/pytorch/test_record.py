"""Attention calls of PyTorch are recorded as they are made, and nothing in the program changes."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import verify
from tests.auditing.pytorch.recorded import attention, only, torch
from verify.auditing.files import load
from verify.errors import OutputError, RecordingError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("reentrant", [True, False])
def test_calls_that_checkpointing_makes_again_are_kept_once(reentrant: bool) -> None:
    """The backward pass runs the layer once more."""
    layer = torch.nn.MultiheadAttention(8, 2)
    x = torch.randn(5, 2, 8, requires_grad=True)
    with verify.record(layer) as recording:
        y = torch.utils.checkpoint.checkpoint(
            lambda z: (layer(z, z, z)[0] * z).sin(), x, use_reentrant=reentrant
        )
        y.sum().backward()
    assert len(list(recording.layers[0].calls)) == 1
    assert x.grad is not None


def test_one_recording_at_a_time() -> None:
    """A second one is refused in one line, and the first goes on."""
    with verify.record() as recording:
        with (
            pytest.raises(RecordingError, match="record: is recording already; end the `with`"),
            verify.record(),
        ):
            pass
        attention()()
    assert len(recording.layers) == 1


def test_an_exception_passes_and_the_recording_is_whole(tmp_path: Path) -> None:
    """What was seen before it is kept, in memory and in a folder."""
    for out in (None, tmp_path / "rec"):
        with contextlib.suppress(ZeroDivisionError), verify.record(out=out) as recording:
            attention()()
            assert not 1 // 0
        assert len(recording.layers) == 1
    assert len(load(tmp_path / "rec").layers) == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_folder_has_what_memory_has(tmp_path: Path, dtype: Any) -> None:
    """To the bit; it is read as NumPy arrays."""
    layer = torch.nn.MultiheadAttention(8, 2, dtype=dtype)
    x = torch.randn(5, 2, 8, dtype=dtype)
    with verify.record(layer, out=tmp_path / "rec") as folder:
        layer(x, x, x, need_weights=False)
    with verify.record(layer) as memory:
        layer(x, x, x, need_weights=False)
    one, other = only(folder), only(memory)
    for name in ("query", "key", "value", "output"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name).float())
    assert one.dtype == ("bfloat16" if dtype == torch.bfloat16 else "")
    with pytest.raises(OutputError, match="holds a recording already"), verify.record(out=tmp_path / "rec"):
        pass
    attention()()


def test_no_call_is_said() -> None:
    """A program without attention has nothing to audit."""
    with pytest.raises(RecordingError, match="no attention call was seen; seen are"), verify.record():
        torch.ones(2) + 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_own_modules_of_pytorch_pass_their_audit(dtype: Any) -> None:
    """Exact findings of a transformer in training are confirmed; rounding may leave a scale undecided."""
    model = torch.nn.Transformer(32, 4, 2, 2, 48, dropout=0.0, batch_first=True, dtype=dtype)
    x = 3 * torch.randn(4, 12, 32, dtype=dtype)
    mask = torch.ones(12, 12, dtype=torch.bool).triu(1)
    with verify.record(model) as recording:
        model(x, x, tgt_mask=mask)
    record = verify.audit(recording, workers=1)
    assert len(record.layers) == 6
    found = {str(one.judgement) for one in record.findings if one.exact}
    assert found == {"confirmed"} or (dtype == torch.bfloat16 and found == {"confirmed", "undecided"})
