"""Estimates over sequences: where an interval holds, where there is none, and how many would do."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from verify.auditing.estimates import (
    FEWEST_BLOCKS,
    BoundedMean,
    Estimate,
    MeanFunction,
    ShareOfBlocks,
    blocks_needed,
)
from verify.auditing.statistical import judge
from verify.evidence.audits import Judgement
from verify.montecarlo.estimands import component, ratio
from verify.montecarlo.intervals import betting_mean, bounded_mean, student_quantile

RNG = np.random.default_rng(4)
EVEN = MeanFunction(component("x"), ("x",))


def ends(found: Estimate) -> tuple[float, float]:
    """Return the interval, which there must be."""
    assert found.interval is not None
    return found.interval


def test_a_bounded_mean_keeps_its_interval_through_a_function() -> None:
    """Of 1/m the ends change places; the error goes through the slope."""
    values = RNG.uniform(0.2, 0.4, size=(50, 1))
    plain, inverse = BoundedMean(0), BoundedMean(0, lambda mean: 1 / mean)
    one, other = plain.estimate(values, 0.01), inverse.estimate(values, 0.01)
    assert one.interval == betting_mean(values[:, 0], 0.01)
    assert other.interval == (1 / ends(one)[1], 1 / ends(one)[0])
    assert other.value == 1 / one.value
    assert one.error is not None
    assert other.error == pytest.approx(one.error / one.value**2, rel=1e-4)


def test_a_share_has_the_interval_of_rare_events() -> None:
    """None of 20 sequences leaves room for some of all."""
    found = ShareOfBlocks(0).estimate(np.zeros((20, 1)), 0.01)
    assert (found.value, found.interval) == (0.0, bounded_mean(0.0, 0.01, 20))
    assert ends(found)[1] > 0.1


def test_student_interval_is_at_least_as_wide_as_the_plain_one() -> None:
    """With little skewness the interval holds Student's, and is hardly wider."""
    values = RNG.normal(3, 1, size=(200, 1))
    found = EVEN.estimate(values, 0.01)
    width = student_quantile(0.01, 200) * float(values.std(ddof=1)) / math.sqrt(200)
    assert found.value == pytest.approx(values.mean())
    low, high = ends(found)
    assert low <= found.value - width * (1 - 1e-9)
    assert high >= found.value + width * (1 - 1e-9)
    assert high - low < 2.2 * width


def test_few_or_skewed_blocks_have_no_interval_and_a_number_that_would_do() -> None:
    """Seven blocks are too few for any; of a hundred exponential ones thousands are needed at 1e-6."""
    few = EVEN.estimate(RNG.normal(size=(FEWEST_BLOCKS - 1, 1)), 0.05)
    assert few.interval is None
    assert few.error is None
    assert few.needed == FEWEST_BLOCKS
    skewed = EVEN.estimate(RNG.exponential(size=(100, 1)), 1e-6)
    assert skewed.interval is None
    assert "skewed" in skewed.doubt
    assert 300 < (skewed.needed or 0) < 30_000
    alike = EVEN.estimate(np.ones((50, 1)), 0.05)
    assert alike.interval is None
    assert "agree" in alike.doubt


def test_a_ratio_of_means_is_measured_by_the_catalogues_estimand() -> None:
    """A ratio's standard error is that of its linearisation."""
    blocks = np.column_stack([RNG.normal(4, 1, 500), RNG.normal(2, 0.1, 500)])
    found = MeanFunction(ratio("a", "b"), ("a", "b")).estimate(blocks, 0.01)
    linear = blocks[:, 0] / blocks[:, 1].mean() - found.value * blocks[:, 1] / blocks[:, 1].mean()
    assert found.value == pytest.approx(blocks[:, 0].mean() / blocks[:, 1].mean())
    assert found.error == pytest.approx(linear.std(ddof=1) / math.sqrt(500))


def test_blocks_needed_follow_the_distance_to_the_band() -> None:
    """Four times as many blocks halve the interval; near the edge no number can be said."""
    exact = Estimate(1.0, 0.0, (0.5, 1.6), 50)
    assert blocks_needed(exact, (0.7, None)) == 50 * 4
    assert blocks_needed(exact, (0.1, 1.3)) == 50 * 4
    found = replace(exact, error=0.1)
    assert 400 < (blocks_needed(found, (0.7, None)) or 0) < 600
    assert blocks_needed(found, (1.0, None)) is None
    assert blocks_needed(found, (1.05, None)) is None
    assert blocks_needed(replace(exact, error=None), (0.7, None)) is None
    assert blocks_needed(found, (0.0, 9.0)) == 51
    assert blocks_needed(Estimate(1.0, None, None, 3, "too few", 8), (0.5, 2.0)) == 8


@pytest.mark.parametrize("blocks", [12, 40, 150])
def test_as_many_blocks_as_are_said_to_decide_mostly_do(blocks: int) -> None:
    """Of 60 undecided samples, new ones of the size that each calls for decide in four of five cases."""
    rng, band = np.random.default_rng(blocks), (0.9, None)
    decided: list[bool] = []
    while len(decided) < 60:
        found = EVEN.estimate(rng.normal(1, 0.5, size=(blocks, 1)), 1e-3)
        needed = blocks_needed(found, band)
        if found.interval is None or needed is None or judge(found, band) is not Judgement.UNDECIDED:
            continue
        values = rng.normal(1, 0.5, size=(min(needed, 100_000), 1))
        decided.append(judge(EVEN.estimate(values, 1e-3), band) is not Judgement.UNDECIDED)
    assert np.mean(decided) >= 0.75
