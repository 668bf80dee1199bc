"""Attention on arrays: against loops, SciPy, and differences of the loss."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from tests.strategies import examples
from verify.spec.arrays import Gradients, attention, gradients, probabilities, softmax
from verify.montecarlo.distributions import Array
from verify.spec.loops import attention_in_loops


@examples(50)
@given(st.integers(1, 6), st.integers(1, 64), st.floats(0.01, 300), st.integers(0, 2**32 - 1))
def test_softmax_is_scipys(rows: int, keys: int, size: float, seed: int) -> None:
    """Rows of any size of score sum to 1 and agree with SciPy."""
    drawn = size * np.random.default_rng(seed).normal(size=(rows, keys))
    found = softmax(drawn)
    np.testing.assert_allclose(found, special.softmax(drawn, axis=-1), rtol=1e-12)
    np.testing.assert_allclose(found.sum(axis=-1), 1, rtol=1e-12)


def drawn(seed: int = 1) -> tuple[Array, Array, Array]:
    """Return queries (2, 3, 4), keys (2, 5, 4) and values (2, 5, 6)."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 5, 4)), rng.normal(size=(2, 5, 6))


def test_attention_in_loops() -> None:
    """The definition entry by entry gives the same output, for each matrix of a batch."""
    queries, keys, values = drawn()
    output = attention(queries, keys, values, 0.5)
    for of_batch in zip(output, queries, keys, values, strict=True):
        np.testing.assert_allclose(of_batch[0], attention_in_loops(*of_batch[1:], 0.5), rtol=1e-12)


@pytest.mark.parametrize("name", ["queries", "keys", "values"])
def test_gradients_against_complex_steps(name: str) -> None:
    """The derivative of the loss ΣG·output in a random direction, by a complex step: no cancellation."""
    parts = dict(zip(("queries", "keys", "values"), drawn(), strict=True))
    rng = np.random.default_rng(2)
    upstream = rng.normal(size=(2, 3, 6))
    direction = rng.normal(size=parts[name].shape)
    step = 1e-30
    moved = parts | {name: parts[name] + 1j * step * direction}
    scores = 0.7 * moved["queries"] @ np.swapaxes(moved["keys"], -1, -2)
    exponentials = np.exp(scores)
    output = exponentials / exponentials.sum(axis=-1, keepdims=True) @ moved["values"]
    slope = float(np.sum(upstream * output).imag / step)
    weights = probabilities(parts["queries"], parts["keys"], 0.7)
    found: Gradients = gradients(parts["queries"], parts["keys"], parts["values"], weights, upstream, 0.7)
    assert float(np.sum(getattr(found, name) * direction)) == pytest.approx(slope, rel=1e-12)


@pytest.mark.parametrize("queries", [1, 5])
def test_gradients_of_more_precise_weights(queries: int) -> None:
    """Weights of double precision with single vectors, of one query and of several: all but rounding."""
    rng = np.random.default_rng(4)
    q, k, v, g = (rng.standard_normal((3, many, 6)) for many in (queries, 7, 7, queries))
    weights = probabilities(3 * q, k, 1.0)
    exact = gradients(q, k, v, weights, g, 0.5)
    a, b, c, d = (one.astype(np.float32) for one in (q, k, v, g))
    found = gradients(a, b, c, weights, d, 0.5)  # type: ignore[arg-type]
    for name in ("queries", "keys", "values"):
        assert getattr(found, name).dtype == np.float32
        assert np.allclose(getattr(found, name), getattr(exact, name), rtol=1e-4, atol=1e-5), name
