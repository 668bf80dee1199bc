"""What tests of recordings need: PyTorch, an attention function, how far an output is from its call's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.auditing.calls import attention as exact
from verify.auditing.recording import Call, Recording, in_memory

torch = pytest.importorskip("torch", reason="needs the extra [torch]")


def only(recording: Recording) -> Call:
    """Return the one call of the one layer."""
    (layer,) = recording.layers
    (call,) = layer.calls
    return call


def deviation(call: Call) -> float:
    """Return by how much the recorded output differs from the one that follows, over rows that see a key."""
    given = in_memory(call)
    declared = {name: getattr(given, name) for name in ("mask", "bias", "softcap", "sink")}
    declared = {name: value for name, value in declared.items() if value is not None}
    scale = given.query.shape[-1] ** -0.5 if call.scale is None else call.scale
    arrays = (np.asarray(array).astype(np.float64) for array in (given.query, given.key, given.value))
    wanted = exact(*arrays, scale=scale, causal=call.causal, **declared)
    seen = np.any(wanted != 0, axis=-1)
    assert seen.any()
    error = np.asarray(given.output).astype(np.float64) - wanted
    return float(np.linalg.norm(error[seen]) / np.linalg.norm(wanted[seen]))


def attention(*shape: int) -> Callable[..., Any]:
    """Return a function that attends with arrays of a shape drawn once."""
    query, key, value = (torch.randn(shape or (2, 4, 6, 8)) for _ in range(3))
    return lambda **options: torch.nn.functional.scaled_dot_product_attention(query, key, value, **options)
