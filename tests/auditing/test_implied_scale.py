"""The scale that an output implies: recovered where the data can tell it, and known to what accuracy."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16

from tests.auditing.calls import SCALE, arrays, attention, call
from tests.auditing.planted import Arithmetic
from verify.auditing.blocks import head_of
from verify.auditing.implied_scale import Rounding, implied_scale
from verify.auditing.recording import Call

LEVEL = 1 - 1e-6
ROWS = 24


def _declared() -> list[Any]:
    rng = np.random.default_rng(5)
    mask = rng.random((2, 1, 24, 24)) < 0.6
    mask[..., :3] = True
    return [
        pytest.param({}, id="plain"),
        pytest.param({"causal": True}, id="causal"),
        pytest.param({"mask": mask}, id="mask"),
        pytest.param({"bias": rng.standard_normal((1, 4, 24, 24))}, id="bias"),
        pytest.param({"softcap": 2.0}, id="soft-cap"),
        pytest.param({"sink": np.array([1.0, 0.0, -1.0, 2.0])}, id="sinks"),
        pytest.param({"key_heads": 2}, id="grouped"),
        pytest.param({"queries": 20, "keys": 40}, id="rectangle"),
        pytest.param({"softcap": 3.0, "causal": True, "key_heads": 1, "sink": np.zeros(4)}, id="all"),
    ]


@pytest.mark.parametrize("options", _declared())
@pytest.mark.parametrize("factor", [1.0, 8.0, 1 / 8, 0.35, 1.07, -1.0])
def test_scale_is_recovered_whatever_else_a_call_declares(options: dict[str, Any], factor: float) -> None:
    """Single precision gives the applied scale to five digits, from the start at the intended one."""
    one = call(applied=SCALE * factor, **options)
    found = implied_scale(head_of(one, 1, 3, ROWS), [SCALE])
    assert found.fits
    assert found.scale == pytest.approx(SCALE * factor, rel=1e-5)


@pytest.mark.parametrize("factor", [1.0, 3.0])
def test_single_precision_tells_the_scale_of_nearly_equal_scores(factor: float) -> None:
    """Scores with standard deviation 0.02 are enough, and the interval holds the scale."""
    found = implied_scale(head_of(call(applied=SCALE * factor, deviation=0.02), 0, 0, ROWS), [SCALE])
    low, high = found.interval(LEVEL)
    assert low <= SCALE * factor <= high
    assert high - low < 1e-4 * found.scale
    assert found.spread == pytest.approx(0.02 * factor, rel=0.2)


@pytest.mark.parametrize(("deviation", "accuracy"), [(8.0, 5e-4), (0.7, 5e-3)])
def test_bfloat16_tells_the_scale_where_scores_differ(deviation: float, accuracy: float) -> None:
    """Eight binary digits suffice for the scale where scores differ, and the interval holds it."""
    dtype = bfloat16
    found = implied_scale(head_of(call(dtype, deviation=deviation, queries=64), 0, 0, 64), [SCALE])
    low, high = found.interval(LEVEL)
    assert low <= SCALE <= high
    assert found.standard_error < accuracy * SCALE
    assert found.fits


def test_bfloat16_cannot_tell_the_scale_of_nearly_equal_scores() -> None:
    """At a standard deviation of 0.02 the interval is wider than the scale's tolerance, and says so."""
    dtype = bfloat16
    low, high = implied_scale(head_of(call(dtype, deviation=0.02), 0, 0, ROWS), [SCALE]).interval(LEVEL)
    assert low <= SCALE <= high
    assert high - low > 0.02 * SCALE


@pytest.mark.parametrize("eager", [False, True])
def test_intervals_hold_as_often_as_their_level_says(*, eager: bool) -> None:
    """Over 400 heads in half precision, intervals at 0.9 hold the scale in nine of ten, but for chance."""
    arithmetic = Arithmetic(np.float16)
    held = 0
    for seed in range(100):
        one = call(np.float16, seed=seed, queries=12, keys=12)
        if eager:
            q, k, v = (np.array(array, dtype=np.float64) for array in (one.query, one.key, one.value))
            one = replace(one, output=arithmetic.attend(q, k, v, SCALE).astype(np.float16))
        for head in range(4):
            low, high = implied_scale(head_of(one, 0, head, 12), [SCALE]).interval(0.9)
            held += low <= SCALE <= high
    assert held >= 342


@pytest.mark.parametrize("spoiled", ["equal values", "equal keys"])
def test_output_that_does_not_depend_on_the_scale_leaves_it_open(spoiled: str) -> None:
    """Where all values or all keys are equal, the interval is the whole line."""
    head = head_of(call(), 0, 0, ROWS)
    if spoiled == "equal values":
        value = np.ones_like(head.value)
        head = replace(head, value=value, output=np.ones_like(head.output))
    else:
        head = replace(head, key=np.ones_like(head.key), output=np.tile(head.value.mean(axis=0), (ROWS, 1)))
    assert implied_scale(head, [SCALE]).interval(LEVEL) == (-math.inf, math.inf)


def test_scale_after_the_softmax_does_not_fit() -> None:
    """An output that no scale explains is not explained, and the residual says so."""
    one = call()
    head = head_of(one, 0, 0, ROWS)
    found = implied_scale(replace(head, output=SCALE * head.attend(1.0)), [SCALE])
    assert not found.fits
    assert found.residual > 1000 * found.rounding


@pytest.mark.parametrize("rows", [1, 3])
def test_few_rows_have_an_interval_from_the_model_of_rounding(rows: int) -> None:
    """A single row of half precision gives an interval that holds the scale, with no degrees to count."""
    for seed in range(40):
        found = implied_scale(head_of(call(np.float16, seed=seed, queries=rows), 0, 0, ROWS), [SCALE])
        low, high = found.interval(0.99)
        assert math.isinf(found.df)
        assert low <= SCALE <= high


@pytest.mark.parametrize("apart", [0.0, 1e-7, 1e-6, 1e-5, 1e-4])
@pytest.mark.parametrize("tokens", [1, 2])
def test_alike_tokens_leave_the_scale_open(tokens: int, apart: float) -> None:
    """Rows that are alike share their rounding errors, so that these say little: the interval says so."""
    rng = np.random.default_rng(7)
    for _ in range(4):
        made = (
            np.take(rng.standard_normal((1, 4, tokens, 64)), rng.integers(0, tokens, 32), axis=2)
            + apart * rng.standard_normal((1, 4, 32, 64))
            for _ in range(3)
        )
        q, k, v = (array.astype(np.float32) for array in made)
        one = Call(q, k, v, attention(q, k, v, scale=SCALE))
        for head in range(4):
            found = implied_scale(head_of(one, 0, head, 16), [SCALE])
            low, high = found.interval(LEVEL)
            assert low <= SCALE <= high
            assert found.fits
            # Two different tokens tell the scale, copies of one do not.
            assert (high - low < 0.02 * SCALE) == (tokens == 2)


def test_copies_of_a_row_share_all_their_errors_and_different_rows_none() -> None:
    """Errors of 12 copies add up to 12 times one; their variance is 12 times that of independent errors."""
    head = head_of(call(), 0, 0, 12)
    copies = head.at(np.zeros(12, dtype=int))
    for one, share in ((copies, 11.0), (head, 0.0)):
        rounding = Rounding.of(one, SCALE)
        slope = one.attended(SCALE)[1]
        # The model's bounds stand for standard deviations in one, and for bounds in the other.
        assert rounding.shared_along(slope) / (0.18 * rounding.along(slope)) == pytest.approx(share, abs=0.01)


def test_single_precision_fits_where_scores_are_large() -> None:
    """A few weights make up the output; the largest of 64 residuals stays below what rounding may leave."""
    for seed in (0, 3):
        made = arrays(seed, sequences=1, heads=32, queries=64, keys=64, deviation=16.0)
        q, k, v = (array.astype(np.float32) for array in made)
        one = Call(q, k, v, attention(q, k, v, scale=SCALE))
        found = [implied_scale(head_of(one, 0, head, 16), [SCALE]) for head in range(32)]
        assert all(each.fits for each in found)
        assert max(each.residual / each.rounding for each in found) > 0.3
