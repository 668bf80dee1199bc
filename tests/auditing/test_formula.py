"""The formula row by row: honest outputs stay within the bound, wrong ones do not, pooled slopes tell how."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ml_dtypes import bfloat16

from tests.auditing.calls import SCALE, attention, call
from verify.auditing.recording import in_memory
from verify.auditing.formula import FACTOR, HIDDEN, SCALE as BY_SCALE, Formula, compare, pool

RNG = np.random.default_rng(3)
DECLARED: tuple[dict[str, Any], ...] = (
    {},
    {"causal": True},
    {"heads": 4, "key_heads": 2},
    {"softcap": 2.0},
    {"sink": np.array([2.0])},
    {"mask": RNG.random((2, 1, 24, 24)) < 0.7},
    {"bias": RNG.standard_normal((1, 24, 24))},
    {"queries": 15, "keys": 40},
)


def _rows(dtype: Any = np.float32, **options: Any) -> Any:
    one = in_memory(call(dtype, **options))
    return compare(Formula(one, one.scale))


@pytest.mark.parametrize("declared", DECLARED, ids=lambda one: "-".join(one) or "plain")
@pytest.mark.parametrize("dtype", [np.float32, np.float16, bfloat16, np.float64])
def test_an_honest_output_is_within_the_bound_and_its_scale_is_recovered(dtype: Any, declared: Any) -> None:
    """Every row of a right output is good; one per cent of scale is seen by all rows together."""
    rows = _rows(dtype, **declared)
    assert rows.is_good.all()
    assert rows.ratio.max() < 0.4
    off = _rows(dtype, **declared, applied=1.01 * SCALE)
    step, error = pool(off, BY_SCALE, off.is_compared)
    assert np.all(np.abs(step - 0.01) < 3e-4)
    assert np.all(error < 1e-3)
    if dtype is np.float32:
        assert off.is_off.mean() > 0.9


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 3), st.integers(1, 3), st.integers(1, 40), st.integers(1, 40), st.integers(0, 2**32 - 1)
)
def test_any_shape_is_computed_as_written_out(
    sequences: int, heads: int, queries: int, keys: int, seed: int
) -> None:
    """Shapes, groups and pieces change no row."""
    options = {
        "sequences": sequences,
        "heads": 2 * heads,
        "key_heads": heads,
        "queries": queries,
        "keys": keys,
    }
    rows = _rows(np.float64, seed=seed, **options)
    assert rows.is_good.all()
    part = in_memory(call(np.float64, seed=seed, **options))
    few = compare(Formula(part, SCALE), rows=slice(queries // 2, queries))
    np.testing.assert_allclose(few.bound, rows.bound[..., queries // 2 :])


def test_long_calls_are_the_same_in_pieces() -> None:
    """A causal call of many pieces, with groups of heads, is as in one piece."""
    one = in_memory(call(np.float64, sequences=1, heads=4, key_heads=2, queries=700, keys=700, causal=True))
    rows = compare(Formula(one, SCALE))
    assert rows.is_good.all()
    assert rows.keys[0, 3].tolist() == list(range(1, 701))


def test_what_is_wrong_with_an_output_shows_in_its_direction() -> None:
    """A factor of the output, and weight on hidden keys, in bfloat16 where no row is off by itself."""
    seen = np.tri(64, dtype=bool)
    options: dict[str, Any] = {"sequences": 16, "queries": 64, "keys": 64, "mask": seen}
    low = in_memory(call(bfloat16, **options))
    wide = [np.asarray(array).astype(np.float64) for array in (low.query, low.key, low.value)]
    for output, direction in (
        (1.004 * attention(*wide, mask=seen), FACTOR),
        (attention(*wide, bias=np.where(seen, 0.0, -9.0)), HIDDEN),
    ):
        rows = compare(Formula(replace(low, output=output.astype(bfloat16)), SCALE))
        value, error = pool(rows, direction, rows.is_good)
        assert value[0] > 8 * error[0]


def test_rows_without_keys_and_numbers_that_are_not_finite_are_counted_apart() -> None:
    """A row that sees no key is not compared; NaN in a key spoils the rows that see it alone."""
    seen = np.tri(24, dtype=bool)
    one = in_memory(call(np.float32, mask=seen))
    seen[3] = False
    one.key[0, 0, 10, 0] = np.nan
    one.output[1, 0, 20] = np.inf  # type: ignore[index]
    rows = compare(Formula(one, SCALE))
    assert rows.keys[0, 0, 3] == 0
    assert not rows.is_compared[:, 0, 3].any()
    assert rows.finite[0, 0].tolist() == [place < 10 for place in range(24)]
    assert rows.is_off[1, 0].tolist() == [place == 20 for place in range(24)]
