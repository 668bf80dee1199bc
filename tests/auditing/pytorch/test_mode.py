"""Attention calls are seen as they are made, and what is no call that can be recorded is named."""

from __future__ import annotations

from typing import Any

import pytest

import verify
from tests.auditing.pytorch.recorded import torch
from verify.errors import RecordingError


def test_attention_that_is_written_out_is_named() -> None:
    """It is not recorded, and that is said, also beside calls that are."""

    class Own(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return (x @ x.mT).softmax(-1) @ x

    model = torch.nn.ModuleDict({"own": Own(), "theirs": torch.nn.MultiheadAttention(8, 2)})
    model.forward = lambda x: model["own"](x) + model["theirs"](x, x, x)[0]
    with verify.record(model) as recording:
        model(torch.randn(5, 2, 8))
    assert recording.left_out == [
        (
            "own: a softmax, or scores times values, outside any recorded call; "
            "attention that is written out is not recorded"
        )
    ]
    with (
        pytest.raises(RecordingError, match=r"no attention call was seen; .*; Own: a softmax, or scores"),
        verify.record(),
    ):
        Own()(torch.randn(5, 2, 8))


def test_other_functions_of_attention_are_named() -> None:
    """The operations behind PyTorch's attention can be called directly."""
    x = torch.randn(1, 2, 4, 8)
    with pytest.raises(RecordingError, match="attention_math was called, which is not"), verify.record():
        torch.ops.aten._scaled_dot_product_attention_math(x, x, x)


@pytest.mark.filterwarnings("ignore")  # the compiler gives several
def test_compiled_code_runs_and_is_named() -> None:
    """A compiled model is not broken by being recorded."""
    layer = torch.nn.MultiheadAttention(8, 2)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 8))
    model[1] = torch.compile(model[1], backend="eager", fullgraph=True)
    x = torch.randn(5, 2, 8)
    wanted = model(x)
    with verify.record(model) as recording:
        got = model(x)
        layer(x, x, x)
    assert torch.equal(wanted, got)
    assert "1: is compiled; attention calls inside it are not seen" in recording.left_out
    assert any("compiled functions ran" in one for one in recording.left_out)
