"""Groups of blocks: an interval for skewed blocks that covers, and derived variances that are found wrong."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from tests.montecarlo.samples import at_least, component, sample_of, variance
from verify.montecarlo import intervals
from verify.montecarlo.blocks import GROUPS
from verify.montecarlo.distributions import Array
from verify.montecarlo.estimands import OF_GROUPS
from verify.montecarlo.intervals import Linearised

HEAVY: dict[str, tuple[Callable[[np.random.Generator, int], Array], float]] = {
    "exponential": (lambda rng, n: rng.exponential(size=n), 1.0),
    "lognormal": (lambda rng, n: rng.lognormal(0, 1, n), math.exp(0.5)),
    "lognormal, wide": (lambda rng, n: rng.lognormal(0, 1.5, n), math.exp(1.125)),
    "squared exponential": (lambda rng, n: rng.exponential(size=n) ** 2, 2.0),
    "mirrored": (lambda rng, n: -(rng.exponential(size=n) ** 2), -2.0),
    "Pareto, five moments": (lambda rng, n: rng.pareto(5, n), 0.25),
    "rare ones": (lambda rng, n: (rng.random(n) < 0.01).astype(float), 0.01),
    "two sizes": (lambda rng, n: np.where(rng.random(n) < 0.02, 10.0, 0.1) * rng.normal(1, 1, n), 0.298),
}
"""Distributions of blocks with their means; all but the first have skewnesses from 4 to 40."""


def linear(values: Array) -> Linearised:
    """Return blocks of one number each, as they are."""
    return Linearised(sample_of(values[:, None]), np.ones(1))


def missed(name: str, count: int, alpha: float, times: int = 1) -> tuple[int, int]:
    """Return how many of ``count`` samples have an interval, and how many of these miss the mean.

    Of this many ``times`` the blocks that are needed: of many more it rests on order statistics alone.
    """
    draw, truth = HEAVY[name]
    rng = np.random.default_rng([20170612, len(name)])
    blocks = times * intervals.blocks_for_groups(linear(draw(rng, 1 << 16)), alpha)
    given = outside = 0
    for _ in range(count):
        blocks_drawn = draw(rng, blocks)
        ends = intervals.of_groups(linear(blocks_drawn), alpha)
        if ends is not None:
            given += 1
            outside += not ends[0] <= truth - blocks_drawn.mean() <= ends[1]
    return given, outside


@pytest.mark.parametrize(
    ("name", "times", "least"),
    [(name, 1, 10) for name in ("exponential", "lognormal", "rare ones")]
    + [("exponential", 4, 60), ("rare ones", 4, 60)],
)
def test_an_interval_of_groups_covers(name: str, times: int, least: int) -> None:
    """With blocks enough for an interval, or for order alone, it holds the mean as often as it says."""
    given, outside = missed(name, 60, 0.05, times)
    assert given >= least
    assert at_least(given - outside, given, 0.95)


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("name", HEAVY)
def test_an_interval_of_groups_covers_heavy_tails_at_small_levels(name: str, times: int) -> None:
    """At 99.9% over 250 samples no more miss than the exact bound allows; and most have an interval."""
    given, outside = missed(name, 250, 1e-3, times)
    assert given >= 60
    assert at_least(given - outside, given, 0.999)


@pytest.mark.parametrize(("size", "name"), [(0.5, "exponential"), (0.2, "exponential"), (0.2, "rare ones")])
def test_an_interval_of_groups_is_as_narrow_as_planned(size: float, name: str) -> None:
    """With the blocks planned for a width it lies within that in nearly all of 40 samples."""
    draw, truth = HEAVY[name]
    rng = np.random.default_rng(16)
    pilot = linear(draw(rng, 1024))
    width = size * math.sqrt(pilot.variance)
    blocks = intervals.groups_within(pilot, 6e-7, 0.05, width)
    inside = 0
    for _ in range(40):
        values = draw(rng, blocks)
        ends = intervals.of_groups(linear(values), 6e-7)
        if ends is not None:
            low, high = (float(values.mean()) + end for end in ends)
            inside += truth - width <= low <= high <= truth + width
    assert inside >= 32


def test_an_interval_of_groups_takes_over_where_skewness_is_too_large() -> None:
    """An estimate says what its interval rests on, and only then is it another than the usual one."""
    rng = np.random.default_rng(7)
    skewed, even = rng.lognormal(0, 1, (1 << 17, 1)), rng.normal(size=(1 << 12, 1))
    of_skewed, of_even = (component("mean").measure(sample_of(v), 6e-7) for v in (skewed, even))
    assert (of_skewed.basis, of_even.basis) == (OF_GROUPS, "")
    assert not of_skewed.doubt
    assert of_skewed.interval[0] < math.exp(0.5) < of_skewed.interval[1]
    ends = intervals.of_groups(linear(skewed[:, 0]), 6e-7)
    assert ends is not None
    assert of_skewed.interval == pytest.approx([of_skewed.value + end for end in ends])


@pytest.mark.parametrize("wrong", [0.1, 0.03, 0.01, 1e-4])
@pytest.mark.parametrize("blocks", [GROUPS, 4096])
def test_too_small_a_variance_is_found(wrong: float, blocks: int) -> None:
    """A variance ten and more times too small is found in at least nine of ten samples, at any size."""
    rng = np.random.default_rng(11)
    says = [intervals.contradiction(linear(rng.normal(size=blocks)), (wrong, wrong)) for _ in range(50)]
    assert sum(map(bool, says)) >= 45
    assert "derived block variance or the sampler is wrong" in max(says)


@pytest.mark.parametrize("wrong", [10.0, 100.0])
def test_too_large_a_variance_is_found(wrong: float) -> None:
    """A variance ten and more times too large is found in a sample of a thousand blocks."""
    rng = np.random.default_rng(12)
    drawn = [linear(rng.exponential(size=4096)) for _ in range(20)]
    assert all(intervals.contradiction(blocks, (wrong, wrong)) for blocks in drawn)


def test_a_contradiction_casts_doubt_on_the_estimate() -> None:
    """An estimate whose model is contradicted decides nothing; its own model leaves it in order."""
    sample = sample_of(np.random.default_rng(13).normal(5, 1, (1000, 1)))
    assert not component("mean", block_variance=1.0).measure(sample, 1e-6).doubt
    for wrong in (0.02, 30.0):
        measured = component("mean", block_variance=wrong).measure(sample, 1e-6)
        assert "times the derived one" in measured.doubt


def test_a_slope_that_vanishes_is_no_contradiction() -> None:
    """Signs have the variance 1 - mean², whose slope is 0 at a mean of 0, though not at the sample's."""
    signs = np.where(np.random.default_rng(14).random(4000) < 0.5, -1.0, 1.0)
    sample = sample_of(np.stack([signs, signs**2], axis=1))
    assert sample.mean[0] != 0
    assert not variance(block_variance=0.0).measure(sample, 1e-6).doubt
    normal = np.random.default_rng(15).normal(size=4000)
    sample = sample_of(np.stack([normal, normal**2], axis=1))
    assert variance(block_variance=0.0).measure(sample, 1e-6).doubt
