"""The interval by betting: it holds for any law, and is short where numbers agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.strategies import examples
from verify.montecarlo.intervals import betting_mean, bounded_mean


@examples(60)
@given(
    values=st.lists(st.floats(0, 1), min_size=1, max_size=40),
    alpha=st.floats(1e-9, 0.5),
)
def test_the_interval_holds_the_mean_and_mirrors(values: list[float], alpha: float) -> None:
    """It lies in [0, 1], holds the sample's mean, and that of 1 - x is its mirror image."""
    numbers = np.array(values)
    low, high = betting_mean(numbers, alpha)
    assert 0 <= low <= np.mean(numbers) <= high <= 1
    mirrored = betting_mean(1 - numbers, alpha)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-8)


def test_a_smaller_rate_asks_for_a_wider_interval() -> None:
    """Between 5% and 1e-6 both ends move outwards."""
    numbers = np.random.default_rng(2).beta(8, 2, size=100)
    (low, high), (lower, higher) = (betting_mean(numbers, alpha) for alpha in (0.05, 1e-6))
    assert lower < low < high < higher


@pytest.mark.parametrize(("a", "b"), [(0.3, 0.3), (40, 10), (0.05, 2)])
def test_it_misses_no_more_often_than_it_may(a: float, b: float) -> None:
    """Of 400 samples of 30 numbers, no more miss at 10% than are compatible with that."""
    rng = np.random.default_rng([7, int(10 * a)])
    mean = a / (a + b)
    ends = [betting_mean(rng.beta(a, b, size=30), 0.1) for _ in range(400)]
    misses = sum(not low <= mean <= high for low, high in ends)
    assert stats.binom.sf(misses - 1, 400, 0.1) > 1e-4


def test_it_uses_that_numbers_agree() -> None:
    """Numbers near 0.9 that vary by 0.01 have an interval a third as long as one that allows any law."""
    numbers = 0.9 + 0.01 * np.random.default_rng(3).standard_normal(300)
    low, high = betting_mean(numbers, 1e-4)
    wide = bounded_mean(0.9, 1e-4, 300)
    assert high - low < (wide[1] - wide[0]) / 3


@pytest.mark.parametrize("values", [[], [0.5, 1.5], [-0.1], [0.5, np.nan]])
def test_other_numbers_are_refused(values: list[float]) -> None:
    """No number at all, and numbers outside of [0, 1]."""
    with pytest.raises(ValueError, match="between 0 and 1"):
        betting_mean(np.array(values), 0.05)
