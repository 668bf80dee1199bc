"""Our attention against PyTorch's own, forwards and backwards; skipped where PyTorch is not installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from verify.montecarlo.attention import attention, gradients, probabilities

if TYPE_CHECKING:
    from verify.montecarlo.distributions import Array

torch = pytest.importorskip("torch", reason="needs the extra [torch]")


def drawn() -> tuple[Array, Array, Array, Array]:
    """Return queries, keys, values and a gradient at the output, for a batch of two heads."""
    rng = np.random.default_rng(1)
    shapes = ((2, 6, 8), (2, 6, 8), (2, 6, 5), (2, 6, 5))
    queries, keys, values, upstream = (rng.normal(size=shape) for shape in shapes)
    return queries, keys, values, upstream


@pytest.mark.parametrize("masked", ["not", "causal", "padding"])
@pytest.mark.parametrize("scale", [None, 1.0, 0.125])
def test_output(masked: str, scale: float | None) -> None:
    """The same output to rounding, at the default scale and others, with and without a mask."""
    queries, keys, values, _ = drawn()
    allowed = np.ones((6, 6), dtype=bool)
    if masked == "causal":
        allowed = np.tril(allowed)
    if masked == "padding":
        allowed[:, -2:] = False
    theirs = torch.nn.functional.scaled_dot_product_attention(
        *(torch.from_numpy(one) for one in (queries, keys, values)),
        attn_mask=None if masked == "not" else torch.from_numpy(allowed),
        scale=scale,
    )
    mask = np.where(allowed, 0.0, -np.inf)
    ours = attention(queries, keys, values, 8**-0.5 if scale is None else scale, mask)
    np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-10, atol=1e-12)


def test_gradients() -> None:
    """The derived gradients are those of automatic differentiation."""
    queries, keys, values, upstream = drawn()
    leaves = [torch.from_numpy(one).requires_grad_() for one in (queries, keys, values)]
    output = torch.nn.functional.scaled_dot_product_attention(*leaves)
    output.backward(torch.from_numpy(upstream))
    weights = probabilities(queries, keys, 8**-0.5)
    ours = gradients(queries, keys, values, weights, upstream, 8**-0.5)
    for mine, leaf in zip((ours.queries, ours.keys, ours.values), leaves, strict=True):
        np.testing.assert_allclose(mine, leaf.grad.numpy(), rtol=1e-10, atol=1e-12)
