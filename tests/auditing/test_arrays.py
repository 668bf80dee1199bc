"""Arrays of other libraries that lie in memory become NumPy's; those elsewhere stay."""

from __future__ import annotations

import numpy as np
import pytest

from tests.auditing.calls import arrays
from verify.auditing import arrays as of_libraries
from verify.auditing.arrays import in_memory
from verify.auditing.recording import Call

Q, K, V = (one.astype(np.float32) for one in arrays(2, d=8))


def test_tensors_in_memory_are_viewed_and_bfloat16_is_widened() -> None:
    """Single precision shares its memory; of bfloat16 every number is kept, and its name."""
    torch = pytest.importorskip("torch")
    q = torch.from_numpy(Q).requires_grad_()
    mask = torch.ones(2, 1, 1, 24, dtype=torch.bool)
    same = in_memory(Call(q, torch.from_numpy(K), mask=mask, scale=0.5, causal=True))
    assert np.shares_memory(same.query, Q)
    assert (same.dtype, same.scale, same.causal, same.value) == ("float32", 0.5, True, None)
    assert same.mask is not None
    assert same.mask.dtype == bool
    half = in_memory(Call(q.bfloat16(), torch.from_numpy(K).bfloat16()))
    assert (half.dtype, half.query.dtype) == ("bfloat16", np.float32)
    assert np.array_equal(half.query, q.bfloat16().float().detach().numpy())


def test_arrays_of_jax_in_memory_are_viewed() -> None:
    """Half of both kinds and single precision, with nothing lost."""
    jnp = pytest.importorskip("jax.numpy")
    for dtype in ("bfloat16", "float16", "float32"):
        q, k = (jnp.asarray(one, dtype=dtype) for one in (Q, K))
        found = in_memory(Call(q, k))
        assert found.dtype == dtype
        assert isinstance(found.query, np.ndarray)
        assert np.array_equal(found.query.astype(np.float32), np.asarray(q, dtype=np.float32))


def test_a_call_stays_where_any_of_it_is_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays on a device are not fetched, nor is one of them taken from the others."""
    monkeypatch.setattr(of_libraries, "_is_near", lambda array: array is not V)
    call = Call(Q, K, V)
    assert in_memory(call) is call
