"""Rows of one head: taken from the right places, whatever arrays hold them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16

from tests.auditing.calls import SCALE, arrays, attention, call
from verify.auditing.arrays import to_numpy, unit_roundoff
from verify.auditing.blocks import HIDDEN, head_of, softmax
from verify.auditing.recording import Call


def test_head_takes_the_keys_of_its_group() -> None:
    """With two key heads for four, heads 0 and 1 read the first and 2 and 3 the second."""
    one = call(heads=4, key_heads=2)
    for head, shared in enumerate([0, 0, 1, 1]):
        assert np.array_equal(head_of(one, 1, head, 5).key, to_numpy(one.key[1, shared]))


def test_rows_that_see_fewer_than_two_keys_are_left_out() -> None:
    """The first row of causal attention says nothing of a scale, nor does one that sees nothing."""
    mask = np.ones((2, 1, 24, 24), dtype=bool)
    mask[:, :, 7] = False
    places = head_of(call(causal=True), 0, 0, 24).places
    assert list(places) == list(range(1, 24))
    one = call()
    assert 7 not in head_of(Call(one.query, one.key, one.value, one.output, mask=mask), 0, 0, 24).places


@pytest.mark.parametrize("shape", [(24, 24), (1, 24), (1, 1, 24, 24), (2, 1, 1, 24), (2, 2, 24, 24)])
def test_masks_of_every_shape_that_broadcasts_are_read(shape: tuple[int, ...]) -> None:
    """A mask reaches the rows that broadcasting would bring it to."""
    mask = np.random.default_rng(3).random(shape) < 0.7
    one = call(heads=2)
    head = head_of(Call(one.query, one.key, one.value, one.output, mask=mask), 1, 1, 24)
    expected = np.broadcast_to(mask, (2, 2, 24, 24))[1, 1][head.places]
    assert np.array_equal(head.added == HIDDEN, ~expected)


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_arrays_of_other_libraries_give_the_same_head(library: str) -> None:
    """PyTorch's and JAX's bfloat16 are read where they are, to the last bit."""
    module = pytest.importorskip(library)
    np16 = bfloat16
    one = call(np16, heads=2, causal=True, bias=np.ones((1, 2, 24, 24), np.float32))

    def moved(array: Any) -> Any:
        exact = array.astype(np.float32)
        if library == "jax":
            return module.numpy.asarray(exact).astype("bfloat16" if array.dtype == np16 else "float32")
        return module.tensor(exact, requires_grad=True).to(
            module.bfloat16 if array.dtype == np16 else module.float32
        )

    query, key, value, output = map(moved, (one.query, one.key, one.value, one.output))
    other = Call(query, key, value, output, bias=moved(one.bias), causal=True)
    here, there = head_of(one, 1, 1, 10), head_of(other, 1, 1, 10)
    assert here.unit == there.unit == 2.0**-8
    for name in ("query", "key", "value", "output", "added", "places"):
        assert np.array_equal(getattr(here, name), getattr(there, name))


@pytest.mark.parametrize(
    ("dtype", "digits"), [("float64", 53), ("float32", 24), ("float16", 11), ("bfloat16", 8)]
)
def test_rounding_is_read_off_the_numbers_themselves(dtype: str, digits: int) -> None:
    """Numbers that went through a coarser type keep its rounding when they are stored in a finer one."""
    numbers = np.random.default_rng(1).standard_normal(100)
    kind = bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    stored = numbers.astype(kind).astype(np.float64)
    assert unit_roundoff(stored) == 2.0**-digits
    assert unit_roundoff(numbers, dtype) == 2.0**-digits


def test_slope_is_the_derivative_of_the_output() -> None:
    """With soft-cap, bias and sink the derivative by the scale agrees with a difference."""
    bias = np.random.default_rng(2).standard_normal((1, 2, 24, 24))
    head = head_of(call(heads=2, softcap=2.0, bias=bias, sink=np.ones(2), causal=True), 0, 1, 12)
    step = 1e-6
    difference = (head.attend(SCALE + step) - head.attend(SCALE - step)) / (2 * step)
    np.testing.assert_allclose(head.attended(SCALE)[1], difference, rtol=1e-6, atol=1e-8)


def test_attention_of_a_head_is_that_of_the_whole() -> None:
    """Row by row a head attends as attention written over all heads at once does."""
    q, k, v = arrays(heads=4, key_heads=2)
    out = attention(q, k, v, causal=True, sink=np.arange(4.0))
    head = head_of(Call(q, k, v, out, causal=True, sink=np.arange(4.0)), 1, 3, 24)
    np.testing.assert_allclose(head.attend(SCALE), out[1, 3][head.places], rtol=1e-12)


def test_softmax_of_hidden_rows_is_zero() -> None:
    """A row that sees nothing has no weight, and no warning is raised."""
    scores = np.array([[0.0, HIDDEN], [HIDDEN, HIDDEN]])
    assert np.array_equal(softmax(scores), [[1.0, 0.0], [0.0, 0.0]])
