"""Rows of one head: taken from the right places, whatever arrays hold them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16

from tests.auditing.calls import SCALE, call
from verify.auditing.arrays import unit_roundoff
from verify.auditing.blocks import head_of
from verify.auditing.recording import Call


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
