"""Groups of blocks: an interval for skewed blocks that covers, and is as narrow as planned."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from tests.montecarlo.samples import at_least, component, sample_of
from verify.montecarlo import intervals
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
