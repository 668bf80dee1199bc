"""Intervals that hold for every distribution, and samples that are as large as promised."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tests.montecarlo.samples import GRID, at_least, sample_of, score_pairs, shares_of
from tests.strategies import FALSE_ALARM
from verify.montecarlo import intervals
from verify.montecarlo.blocks import SHARE, Sample, numbered
from verify.montecarlo.distributions import NORMAL
from verify.montecarlo.estimands import (
    MIN_BLOCKS,
    PILOT_BLOCKS,
    Bounded,
    DistanceToLaw,
    Goal,
    Quantile,
    component,
)

MEDIAN = math.log(2)
"""The median of the standard exponential distribution."""


class TestDistanceToLaw:
    """The distance between the measured and a given distribution function."""

    SAMPLER = score_pairs(1, 50, NORMAL, NORMAL, (-1.0, 0.0, 1.0))

    def pilot(self, blocks: int = 400, seed: int = 9) -> Sample:
        """Return a sample of fractions."""
        values = self.SAMPLER.sample(np.random.default_rng(seed), blocks)
        empty = np.zeros((0, 0))
        return Sample(blocks, blocks * 100, blocks * 50, values.mean(axis=0), empty, empty)

    def test_value_and_interval(self) -> None:
        """The largest gap, ± Massart's half-width, cut to what a distance can be."""
        sample = self.pilot()
        measured = DistanceToLaw(tuple(sample.mean + np.array([0.0, 0.3, -0.1]))).measure(sample, 0.01)
        half = math.sqrt(math.log(200) / (2 * sample.scores))
        assert measured.value == pytest.approx(0.3)
        assert measured.interval == pytest.approx((0.3 - half, 0.3 + half))
        assert DistanceToLaw(tuple(sample.mean)).measure(sample, 0.01).interval == pytest.approx((0.0, half))

    def test_symmetric_scores_are_found_symmetric(self) -> None:
        """P(S ≤ 0) = ½ lies within the interval at 1e-6; it is exact at every size."""
        middle = score_pairs(1, 50, NORMAL, NORMAL, (0.0,))
        values = middle.sample(np.random.default_rng(9), 400)
        sample = Sample(400, 1, 20_000, values.mean(axis=0), np.zeros(0), np.zeros(0))
        assert DistanceToLaw((0.5,)).measure(sample, FALSE_ALARM).interval[0] == 0.0

    def test_planned_size_reaches_the_goal(self) -> None:
        """A true distribution's interval in the planned sample fits the width as often as promised."""
        goal = Goal(alpha=0.01, miss=0.2, prediction=0.0, width=0.02)
        estimand = DistanceToLaw((0.5,))
        assert estimand.blocks_needed(goal, None) is None
        pilot = self.pilot()
        blocks = estimand.blocks_needed(goal, pilot)
        assert blocks is not None
        rng = np.random.default_rng(11)
        fractions = rng.binomial(blocks * 50, 0.5, size=300) / (blocks * 50)
        empty = np.zeros(0)
        inside = sum(
            estimand.measure(Sample(blocks, 1, blocks * 50, np.array([f]), empty, empty), 0.01).interval[1]
            <= goal.width
            for f in fractions
        )
        assert at_least(inside, 300, 0.8)


class TestBounded:
    """The mean of a statistic between 0 and 1."""

    SHARES = np.array([[0.25, 1.0], [0.5, 1.0], [0.75, 1.0], [1.0, 1.0]])

    def test_value_and_interval(self) -> None:
        """The mean with Hoeffding's interval; signed, both on the scale from -1 to 1."""
        found = Bounded("mean").measure(sample_of(self.SHARES), 0.01)
        signed = Bounded("mean", signed=True).measure(sample_of(self.SHARES), 0.01)
        assert found.value == 0.625
        assert found.interval == intervals.bounded_mean(0.625, 0.01, 4)
        assert signed.value == 0.25
        assert signed.interval == tuple(2 * end - 1 for end in found.interval)
        assert signed.error == 2 * found.error > 0

    def test_blocks_that_all_agree_keep_an_interval(self) -> None:
        """No spread among the blocks does not make the mean certain."""
        found = Bounded("square").measure(sample_of(self.SHARES), 0.01)
        assert found.interval[0] < found.value == found.interval[1] == 1
        assert found.reliable

    @pytest.mark.parametrize(("truth", "edge"), [(0.6, 0.5), (0.97, 0.5), (0.3, 0.5), (0.98, 0.9)])
    @pytest.mark.parametrize("signed", [False, True])
    def test_planned_size_reaches_the_goal(self, truth: float, edge: float, signed: bool) -> None:
        """At the planned size the interval ends before the edge with at least the wanted power."""
        alpha, miss, factor = 1e-4, 0.05, 2 if signed else 1
        goal = Goal(alpha, miss, factor * truth - (factor - 1), width=factor * abs(truth - edge))
        blocks = Bounded("mean", signed=signed).blocks_needed(goal, None)
        assert blocks is not None
        counts = np.arange(blocks + 1)
        found = [intervals.bounded_mean(k / blocks, alpha, blocks) for k in counts]
        clear = [(low > edge) if truth > edge else (high < edge) for low, high in found]
        assert stats.binom.pmf(counts, blocks, truth)[clear].sum() >= 1 - miss

    def test_its_pilot_is_short(self) -> None:
        """Only estimands whose variance and skewness must be estimated take a long pilot."""
        assert Bounded.pilot_blocks == MIN_BLOCKS < PILOT_BLOCKS == component("mean").pilot_blocks


class TestQuantile:
    """Quantiles from shares at grid points."""

    @pytest.mark.parametrize("samples", [200, pytest.param(2000, marks=pytest.mark.slow)])
    def test_covers_the_median_at_the_stated_rate(self, samples: int) -> None:
        """Of all samples at 95% few enough intervals miss the median, and their width is no luxury."""
        rng = np.random.default_rng(12)
        found = [
            Quantile(GRID).measure(shares_of(rng.exponential(size=(200, 4))), 0.05) for _ in range(samples)
        ]
        held = sum(one.interval[0] <= MEDIAN <= one.interval[1] for one in found)
        assert at_least(held, samples, 0.95)
        # The ideal half-width is z/(2f√N) with density f = ½ at the median; the grid adds a step of 5%.
        assert (
            np.mean([one.interval[1] - one.interval[0] for one in found]) < 2 * 1.96 / math.sqrt(800) + 0.08
        )
        assert all(one.interval[0] <= one.value <= one.interval[1] for one in found)

    def test_covers_far_quantiles_at_small_rates(self) -> None:
        """Where shares are near 1 a normal one would miss too often; the bound of Hoeffding does not."""
        rng = np.random.default_rng(19)
        estimand, truth = Quantile(GRID, level=0.95), math.log(20)
        missed = 0
        for _ in range(4000):
            values = rng.exponential(size=1000)
            empty = np.zeros((0, 0))
            shares = np.searchsorted(np.sort(values), np.asarray(GRID), side="right") / 1000
            low, high = estimand.measure(
                Sample(1000, 1000, 1000, shares, empty, empty, names=numbered(SHARE, len(GRID))), 1e-3
            ).interval
            missed += not low <= truth <= high
        assert at_least(4000 - missed, 4000, 1 - 1e-3)

    def test_other_levels(self) -> None:
        """Any level can be asked for."""
        sample = shares_of(np.random.default_rng(13).exponential(size=(4000, 4)))
        low, high = Quantile(GRID, level=0.9).measure(sample, FALSE_ALARM).interval
        assert low <= math.log(10) <= high
        assert not low <= math.log(5) <= high

    def test_a_grid_that_does_not_hold_it_is_not_reliable(self) -> None:
        """A median beyond the grid's end is never judged."""
        sample = shares_of(100 + np.random.default_rng(14).exponential(size=(200, 4)))
        assert not Quantile(GRID).measure(sample, 0.05).reliable

    def test_planned_size_reaches_the_goal(self) -> None:
        """The interval at the planned size fits around a prediction as often as promised."""
        goal = Goal(alpha=0.01, miss=0.2, prediction=MEDIAN, width=0.15)
        rng = np.random.default_rng(15)
        assert Quantile(GRID).blocks_needed(goal, None) is None
        blocks = Quantile(GRID).blocks_needed(goal, shares_of(rng.exponential(size=(400, 4))))
        assert blocks is not None
        inside = 0
        for _ in range(100):
            low, high = Quantile(GRID).measure(shares_of(rng.exponential(size=(blocks, 4))), 0.01).interval
            inside += MEDIAN - goal.width <= low and high <= MEDIAN + goal.width
        assert at_least(inside, 100, 0.8)
