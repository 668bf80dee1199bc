"""Intervals: what each must contain, how it grows, and which test it inverts."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from tests.montecarlo.samples import at_least, component, sample_of
from tests.strategies import alphas, examples, floats
from verify.montecarlo import intervals
from verify.montecarlo.distributions import Array
from verify.montecarlo.estimands import OF_GROUPS
from verify.montecarlo.intervals import Linearised

VALUES = floats(1e-3, 1e3)
QUANTILES = floats(0.1, 8)


@examples(100)
@given(VALUES, floats(1e-3, 10), st.integers(2000, 10**6), QUANTILES, floats(0.01, 100))
def test_a_scored_interval_inverts_the_score_test(
    value: float, relative: float, blocks: int, z: float, candidate: float
) -> None:
    """A candidate v is inside exactly if |value - v| ≤ z·v·√(r/B)."""
    assume(z * math.sqrt(relative / blocks) < 0.95)
    low, high = intervals.scored(value, relative, blocks, z, positive=True)
    v = value * candidate
    statistic = abs(value - v) / (v * math.sqrt(relative / blocks))
    assume(abs(statistic - z) > 1e-9)
    assert (low <= v <= high) == (statistic <= z)


def test_too_few_blocks_have_no_finite_bound() -> None:
    """Where the score test rejects no large value, the interval would be infinite; that is an error."""
    with pytest.raises(ValueError, match="4 blocks are too few"):
        intervals.scored(1.0, 1.0, 4, 2.0, positive=True)
    assert intervals.scored(1.0, 1.0, 4, 2.0, positive=False) == (0.0, 2.0)


@examples(50)
@given(floats(-2, 2), st.integers(50, 10**5), floats(-4, 4))
def test_a_corrected_interval_inverts_the_published_transformation(
    skewness: float, blocks: int, t: float
) -> None:
    """The ends' studentised distances T satisfy T + γT²/3√B + γ²T³/27B + γ/6√B = ±z."""
    root = math.sqrt(blocks)

    def transformed(t: float) -> float:
        return t + skewness * t**2 / (3 * root) + skewness**2 * t**3 / (27 * blocks) + skewness / 6 / root

    z = abs(transformed(t))
    low, high = intervals.skewness_corrected(0.0, 1.0, skewness, blocks, z)
    assert transformed(-low) == pytest.approx(z, abs=1e-6)
    assert transformed(-high) == pytest.approx(-z, abs=1e-6)


@examples(100)
@given(floats(-10, 10), alphas())
def test_least_blocks_is_the_threshold(skewness: float, alpha: float) -> None:
    """The mean of this number of blocks is reliable, the mean of one fewer is not."""
    least = intervals.least_blocks(skewness, alpha)
    assume(least > 1)
    assert intervals.is_reliable(skewness / math.sqrt(least), alpha * (1 + 1e-9))
    assert not intervals.is_reliable(skewness / math.sqrt(least - 1), alpha * (1 - 1e-9))


@pytest.mark.parametrize("side", [-1, 1])
def test_the_fewest_reliable_blocks_miss_as_rarely_as_they_may(side: int) -> None:
    """At a run's level, on either side: exponential numbers, drawn by such a law that many samples miss.

    Numbers of the mean 1/(1 - θ) stand for those of mean 1, each weighed by the quotient of densities.
    """
    alpha, misses, rng = 6e-7, np.zeros(400), np.random.default_rng(1)
    blocks = intervals.least_blocks(2.0, alpha)
    quantile, tilt = intervals.student_quantile(alpha, blocks), side * 5 / math.sqrt(blocks)
    for place in range(misses.size):
        numbers = rng.exponential(1 / (1 - tilt), blocks)
        error, skewness = numbers.std(ddof=1) / math.sqrt(blocks), float(stats.skew(numbers))
        low, high = intervals.skewness_corrected(numbers.mean(), error, skewness, blocks, quantile)
        weight = -tilt * numbers.sum() - blocks * math.log(1 - tilt)
        misses[place] = math.exp(weight) if not low <= 1 <= high else 0.0
    assert 0 < misses.mean() <= alpha / 2 + 3 * misses.std() / math.sqrt(misses.size)


@given(mean=floats(0.0, 1.0), alpha=floats(1e-9, 0.5), blocks=st.integers(1, 10**5))
def test_ends_of_a_bounded_mean_have_the_allowed_divergence(mean: float, alpha: float, blocks: int) -> None:
    """The mean lies inside, and ends within (0, 1) sit where Hoeffding's bound equals half the rate."""
    low, high = intervals.bounded_mean(mean, alpha, blocks)
    assert 0 <= low <= mean <= high <= 1
    for end in (low, high):
        if 1e-9 < end < 1 - 1e-9 and abs(end - mean) > 1e-6:
            base = (mean / end) ** mean * ((1 - mean) / (1 - end)) ** (1 - mean)
            assert math.isclose(2 * base**-blocks, alpha, rel_tol=2e-2)


@examples(50)
@given(alphas(), st.integers(1, 2000))
def test_a_distance_to_a_law_is_never_below_the_exact_law(alpha: float, scores: int) -> None:
    """The exact distribution exceeds the half-width with probability at most alpha, at every size."""
    half = intervals.kolmogorov(alpha, scores)
    assert stats.kstwo.sf(half, scores) <= alpha * (1 + 1e-6)


@examples(60)
@given(floats(0, 200), st.integers(1, 12), alphas())
def test_noncentrality_inverts_the_noncentral_law(statistic: float, freedom: int, alpha: float) -> None:
    """At each end the statistic sits on a tail of alpha/2, unless even the central one puts it beyond."""
    low, high = intervals.noncentrality(statistic, freedom, alpha)
    assert 0 <= low <= high
    for end, tail in ((low, 1 - alpha / 2), (high, alpha / 2)):
        if end == 0:
            assert stats.chi2.cdf(statistic, freedom) <= tail
        else:
            # 1 - tail is compared, for that is what the level is about.
            beyond = stats.ncx2.sf(statistic, freedom, end)
            assert beyond == pytest.approx(1 - tail, rel=1e-3, abs=1e-9)


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


@pytest.mark.parametrize(
    ("name", "times", "count", "least", "alpha"),
    [(name, 1, 60, 10, 0.05) for name in ("exponential", "lognormal", "rare ones")]
    + [(name, 4, 60, 60, 0.05) for name in ("exponential", "rare ones")]
    + [
        pytest.param(name, times, 250, 60, 1e-3, marks=pytest.mark.slow) for name in HEAVY for times in (1, 3)
    ],
)
def test_an_interval_of_groups_covers(name: str, times: int, count: int, least: int, alpha: float) -> None:
    """With blocks enough for an interval it holds the mean as often as it says; with many more, by order."""
    draw, truth = HEAVY[name]
    rng = np.random.default_rng([20170612, len(name)])
    blocks = times * intervals.blocks_for_groups(linear(draw(rng, 1 << 16)), alpha)
    given = inside = 0
    for _ in range(count):
        blocks_drawn = draw(rng, blocks)
        ends = intervals.of_groups(linear(blocks_drawn), alpha)
        if ends is not None:
            given += 1
            inside += ends[0] <= truth - blocks_drawn.mean() <= ends[1]
    assert given >= least
    assert at_least(inside, given, 1 - alpha)


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
