"""Estimands: values, intervals that hold at their level, and the blocks that they need."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy import stats

from tests.montecarlo.samples import at_least, component, generator, sample_of, samples, score_variance
from tests.montecarlo.samples import truth_of
from verify.montecarlo import intervals
from verify.montecarlo.blocks import Sample
from verify.montecarlo.distributions import EXPONENTIAL, NORMAL, Distribution
from verify.montecarlo.estimands import MIN_BLOCKS, Bounded, DistanceToLaw, Estimand, Goal, Smooth


def covered(estimand: Estimand, drawn: Iterable[Sample], truth: float, alpha: float) -> int:
    """Return how many samples' intervals hold the truth."""
    ends = (estimand.measure(sample, alpha).interval for sample in drawn)
    return sum(low <= truth <= high for low, high in ends)


def fitting(estimand: Estimand, drawn: Iterable[Sample], goal: Goal) -> int:
    """Return how many samples' intervals lie within the width of a goal about its prediction."""
    ends = (estimand.measure(sample, goal.alpha).interval for sample in drawn)
    low, high = goal.prediction - goal.width, goal.prediction + goal.width
    return sum(low <= first and last <= high for first, last in ends)


def test_gradients_are_those_of_central_differences() -> None:
    """SymPy's derivatives, by each output that a function is of; none by another."""
    mean, square = sp.symbols("mean square")
    values, names = np.array([3.0, 7.0, 2.0]), ("mean", "square", "fourth")
    for expression in (square - mean**2, sp.sqrt(square / mean)):
        estimand = Smooth(expression, ((mean, "mean"), (square, "square")), positive=True)
        above, here, below = (
            [estimand.at(dict(zip(names, values + side * step, strict=True))) for step in 1e-5 * np.eye(3)]
            for side in (1, 0, -1)
        )
        differences = [(more[0] - less[0]) / 2e-5 for more, less in zip(above, below, strict=True)]
        assert np.allclose(here[0][1], differences, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("law", [NORMAL, EXPONENTIAL], ids=lambda law: law.name)
def test_the_hull_covers(law: Distribution) -> None:
    """The variance of scores far from normal, at the smallest sample that is judged; the study has others."""
    cell, estimand = score_variance(1, 4, law)
    drawn = samples(cell, 200, MIN_BLOCKS, generator(11))
    assert at_least(covered(estimand, drawn, truth_of(1, law), 0.05), 200, 0.95)


@pytest.mark.parametrize("wrong", [0.02, 50.0])
def test_a_wrong_block_variance_makes_no_interval_narrower(wrong: float) -> None:
    """Far too small or too large, the interval reaches as far as that with the sampled variance."""
    sample = sample_of(np.random.default_rng(13).normal(5, 1, (1000, 1)))
    measured = component("mean", block_variance=wrong).measure(sample, 1e-6)
    reach = intervals.student_quantile(1e-6, 1000) * measured.error
    low, high = measured.interval
    assert low <= measured.value - reach < 5 < measured.value + reach <= high
    assert high - low >= 2 * intervals.normal_quantile(1e-6) * math.sqrt(wrong / 1000) * (1 - 1e-9)


def test_skewness_corrected_covers_at_95_percent() -> None:
    """Means of exponentials, at the fewest blocks that count as reliable."""
    blocks = intervals.least_blocks(2.0, 0.05)
    drawn = map(sample_of, np.random.default_rng(78).exponential(size=(500, blocks, 1)))
    assert at_least(covered(component("mean"), drawn, 1.0, 0.05), 500, 0.95)


def test_planned_size_by_a_derived_variance() -> None:
    """With the derived block variance: the interval fits the band in at least 95% of 150 samples."""
    cell, estimand = score_variance(4, 4, EXPONENTIAL)
    truth = truth_of(4, EXPONENTIAL)
    goal = Goal(alpha=1e-3, miss=0.05, prediction=truth, width=0.2 * truth)
    blocks = estimand.blocks_needed(goal, None)
    assert blocks is not None
    assert blocks >= MIN_BLOCKS
    assert at_least(fitting(estimand, samples(cell, 150, blocks, generator(94)), goal), 150, 0.95)


def test_planned_size_by_a_pilot() -> None:
    """Without one, a pilot estimates it; from a pilot of many blocks the promise holds."""
    estimand = component("mean")
    goal = Goal(alpha=1e-2, miss=0.05, prediction=1.0, width=0.1)
    assert estimand.blocks_needed(goal, None) is None
    rng = np.random.default_rng(5)
    blocks = estimand.blocks_needed(goal, sample_of(rng.exponential(size=(20_000, 1))))
    assert blocks is not None
    drawn = map(sample_of, rng.exponential(size=(150, blocks, 1)))
    assert at_least(fitting(estimand, drawn, goal), 150, 0.95)


POINTS = ("-1", "0", "1")


def of_shares(blocks: int, shares: Any, names: tuple[str, ...]) -> Sample:
    """Return a sample of these shares of 50 independent scores a block, without higher moments."""
    empty = np.zeros((0, 0))
    return Sample(blocks, blocks * 100, blocks * 50, np.array(shares), empty, empty, names=names)


def test_a_distance_to_a_law_has_massarts_interval() -> None:
    """The largest gap, ± Massart's half-width, cut to what a distance can be."""
    products = np.random.default_rng(9).normal(size=(2, 400 * 50)).prod(axis=0)
    sample = of_shares(400, [(products <= float(point)).mean() for point in POINTS], POINTS)
    off = tuple(sample.mean + np.array([0.0, 0.3, -0.1]))
    laws = (off, tuple(sample.mean))
    measured, right = (DistanceToLaw(law, POINTS).measure(sample, 0.01) for law in laws)
    half = math.sqrt(math.log(200) / (2 * sample.scores))
    assert measured.value == pytest.approx(0.3)
    assert measured.interval == pytest.approx((0.3 - half, 0.3 + half))
    assert right.interval == pytest.approx((0.0, half))


def test_planned_size_for_a_distance_reaches_the_goal() -> None:
    """A true distribution's interval in the planned sample fits the width as often as promised."""
    goal = Goal(alpha=0.01, miss=0.2, prediction=0.0, width=0.02)
    estimand = DistanceToLaw((0.5,), ("half",))
    assert estimand.blocks_needed(goal, None) is None
    blocks = estimand.blocks_needed(goal, of_shares(400, [0.5], ("half",)))
    assert blocks is not None
    shares = np.random.default_rng(11).binomial(blocks * 50, 0.5, size=300) / (blocks * 50)
    drawn = (of_shares(blocks, [share], ("half",)) for share in shares)
    assert at_least(fitting(estimand, drawn, goal), 300, 0.8)


SHARES = np.array([[0.25, 1.0], [0.5, 1.0], [0.75, 1.0], [1.0, 1.0]])


def test_a_bounded_mean_has_hoeffdings_interval() -> None:
    """Also where all blocks agree: no spread among them does not make the mean certain."""
    share, all_agree = (Bounded(name).measure(sample_of(SHARES), 0.01) for name in ("mean", "square"))
    assert share.value == 0.625
    assert share.interval == intervals.bounded_mean(0.625, 0.01, 4)
    assert all_agree.interval[0] < all_agree.value == all_agree.interval[1] == 1
    assert not all_agree.doubt


@pytest.mark.parametrize(("truth", "edge"), [(0.6, 0.5), (0.97, 0.5), (0.3, 0.5), (0.98, 0.9)])
def test_planned_size_for_a_bounded_mean_reaches_the_goal(truth: float, edge: float) -> None:
    """At the planned size the interval ends before the edge with at least the wanted power."""
    alpha, miss = 1e-4, 0.05
    goal = Goal(alpha, miss, truth, width=abs(truth - edge))
    blocks = Bounded("mean").blocks_needed(goal, None)
    assert blocks is not None
    counts = np.arange(blocks + 1)
    ends = [intervals.bounded_mean(k / blocks, alpha, blocks) for k in counts]
    clear = [(low > edge) if truth > edge else (high < edge) for low, high in ends]
    assert stats.binom.pmf(counts, blocks, truth)[clear].sum() >= 1 - miss
