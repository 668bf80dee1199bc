"""The formula row by row: honest outputs stay within the bound, wrong ones do not, pooled slopes tell how."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
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
