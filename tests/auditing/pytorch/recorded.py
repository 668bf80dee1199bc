"""What tests of recordings need: PyTorch, an attention function, and what follows from a recorded call."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from verify.auditing.recording import Call, Recording

torch = pytest.importorskip("torch", reason="needs the extra [torch]")


def only(recording: Recording) -> Call:
    """Return the one call of the one layer."""
    (layer,) = recording.layers
    (call,) = layer.calls
    return call


def reconstructed(call: Call) -> Any:
    """Return the output that follows from a recorded call, in float64."""
    assert call.value is not None
    repeats = call.query.shape[1] // call.key.shape[1]
    key, value = (part.double().repeat_interleave(repeats, 1) for part in (call.key, call.value))
    scale = call.query.shape[-1] ** -0.5 if call.scale is None else call.scale
    scores = scale * call.query.double() @ key.mT
    if call.softcap:
        scores = call.softcap * torch.tanh(scores / call.softcap)
    if call.bias is not None:
        scores = scores + call.bias
    if call.mask is not None:
        scores = scores.masked_fill(~call.mask, -math.inf)
    if call.causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), -math.inf)
    if call.sink is not None:
        sinks = call.sink.double().reshape(1, -1, 1, 1).expand(*scores.shape[:3], 1)
        return torch.cat([scores, sinks], -1).softmax(-1)[..., :-1] @ value
    return scores.softmax(-1) @ value


def deviation(call: Call) -> float:
    """Return by how much the recorded output differs from the one that follows, over rows that see a key."""
    wanted = reconstructed(call)
    seen = ~wanted.isnan()
    assert seen.any()
    assert call.output is not None
    return float((call.output.double() - wanted)[seen].norm() / wanted[seen].norm())


def attention(*shape: int) -> Callable[..., Any]:
    """Return a function that attends with arrays of a shape drawn once."""
    query, key, value = (torch.randn(shape or (2, 4, 6, 8)) for _ in range(3))
    return lambda **options: torch.nn.functional.scaled_dot_product_attention(query, key, value, **options)
