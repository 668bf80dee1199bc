"""The scale that an output implies: recovered where the data can tell it, and known to what accuracy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.auditing.calls import SCALE, arrays, attention, call
from tests.auditing.planted import Arithmetic
from verify.auditing.reconstruction import explained
from verify.auditing.recording import Call
from verify.auditing.rows import Scales

LEVEL = 1 - 1e-6


def implied(one: Call, level: float = LEVEL) -> Scales:
    """Return the scale of each head and sequence, found from the intended one."""
    found, scale = explained(one, SCALE)
    return Scales(found, scale, np.ones(len(scale)), 1 - level)


def fits(one: Call) -> bool:
    """Return whether some scale explains all rows."""
    return not explained(one, SCALE)[0].bad.any()


def _declared() -> list[Any]:
    rng = np.random.default_rng(5)
    mask = rng.random((2, 1, 24, 24)) < 0.6
    mask[..., :3] = True
    return [
        pytest.param({}, id="plain"),
        pytest.param({"causal": True}, id="causal"),
        pytest.param({"mask": mask}, id="mask"),
        pytest.param({"bias": rng.standard_normal((1, 1, 24, 24))}, id="bias"),
        pytest.param({"softcap": 2.0}, id="soft-cap"),
        pytest.param({"sink": np.array([1.0])}, id="sinks"),
        pytest.param({"heads": 2, "key_heads": 1}, id="grouped"),
        pytest.param({"queries": 20, "keys": 40}, id="rectangle"),
        pytest.param(
            {"softcap": 3.0, "causal": True, "heads": 2, "key_heads": 1, "sink": np.zeros(2)}, id="all"
        ),
    ]


@pytest.mark.parametrize("options", _declared())
@pytest.mark.parametrize("factor", [8.0, 1.07, -1.0])
def test_scale_is_recovered_whatever_else_a_call_declares(options: dict[str, Any], factor: float) -> None:
    """Single precision gives the applied scale to five digits, from the start at the intended one."""
    one = call(applied=SCALE * factor, **options)
    assert fits(one)
    assert implied(one).value == pytest.approx(SCALE * factor, rel=1e-5)


@pytest.mark.parametrize("eager", [False, True])
def test_intervals_hold_as_often_as_their_level_says(*, eager: bool) -> None:
    """Over 400 heads in half precision, intervals at 0.9 hold the scale in nine of ten, but for chance."""
    arithmetic = Arithmetic(np.float16)
    held = number = 0
    for seed in range(100):
        one = call(np.float16, seed=seed, queries=12, keys=12)
        if eager:
            q, k, v = (np.array(array, dtype=np.float64) for array in (one.query, one.key, one.value))
            one = replace(one, output=arithmetic.attend(q, k, v, SCALE).astype(np.float16))
        found = implied(one, 0.9)
        held += int((abs(found.value - SCALE) <= found.half).sum())
        number += len(found.value)
    assert held >= 0.87 * number


@pytest.mark.parametrize("rows", [1, 3])
def test_few_rows_have_an_interval_from_the_model_of_rounding(rows: int) -> None:
    """A single row of half precision gives an interval that holds the scale, with no degrees to count."""
    for seed in range(40):
        found = implied(call(np.float16, seed=seed, queries=rows), 0.99)
        assert (abs(found.value - SCALE) <= found.half).all()


def test_single_precision_fits_where_scores_are_large() -> None:
    """A few weights make up the output; the largest of 2,048 errors stays below what rounding may leave."""
    for seed in (0, 3):
        made = arrays(seed, sequences=1, heads=32, queries=64, keys=64, deviation=16.0)
        q, k, v = (array.astype(np.float32) for array in made)
        one = Call(q, k, v, attention(q, k, v, scale=SCALE))
        found, _ = explained(one, SCALE)
        assert not found.bad.any()
        assert found.worst.max() > 0.1
