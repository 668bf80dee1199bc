"""In what precision a function adds up, keeps its scores, and where they overflow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from verify.auditing.probe import probe


class _InHalf:
    """Attention that rounds what it is told to round to the dtype of its arrays."""

    def __init__(self, *, scores: bool = False, sums: bool = False, products: bool = False) -> None:
        self.scores, self.sums, self.products = scores, sums, products

    def __call__(self, q: Any, k: Any, v: Any) -> Any:
        dtype, scale = q.dtype, q.shape[-1] ** -0.5
        q, k, v = (one.astype(np.float64) for one in (q, k, v))
        scores = q @ np.swapaxes(k, -1, -2)
        scores = scores.astype(dtype).astype(np.float64) if self.products else scores
        scores = scale * scores
        scores = scores.astype(dtype).astype(np.float64) if self.scores else scores
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = e / e.sum(axis=-1, keepdims=True)
        if not self.sums:
            return (weights @ v).astype(dtype)
        out = np.zeros((*weights.shape[:3], v.shape[3]), dtype)
        for key in range(v.shape[2]):
            out = out + (weights[..., key, None] * v[:, :, None, key]).astype(dtype)
        return out


@pytest.mark.parametrize("rounded", ["scores", "sums", "products"])
def test_what_is_rounded_to_half_precision_is_found(rounded: str) -> None:
    """Scores, sums or products in half precision are told from wider ones, each by its own experiment."""
    (wide,) = probe(_InHalf(), d_k=16, heads=2).precision
    assert (wide.sums_in_dtype, wide.scores_in_dtype, wide.overflows) == (False, False, False)
    (found,) = probe(_InHalf(**{rounded: True}), d_k=16, heads=2).precision
    assert found.scores_in_dtype is (rounded in ("scores", "products"))
    assert found.sums_in_dtype is (rounded == "sums")
    assert found.overflows is (rounded == "products")
