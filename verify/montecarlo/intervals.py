"""Intervals for a function of block means that hold at the very small levels of a shared budget.

Every interval is (lower, upper) with false-exclusion rate at most ``alpha`` in total. Where blocks are so
skewed that the usual ones do not hold, the means of groups of blocks give another.
"""

import math
import sys
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import scipy

from verify.montecarlo.blocks import GROUPS, Sample
from verify.montecarlo.distributions import Array

Interval = tuple[float, float]

SKEWNESS_LIMIT = 0.6
"""Above this value of |γ|z³/3, γ the skewness of the estimate, the correction itself is not trusted.

Up to it, and up to half as much again, the corrected interval of exponential, gamma and mixed exponential
numbers was measured to miss within a tenth as often as it may, at 6e-7, by importance sampling.
"""


@cache
def normal_quantile(alpha: float) -> float:
    """Return z with P(|Z| > z) = alpha for a standard normal Z."""
    return float(-scipy.special.ndtri(alpha / 2))


@cache
def student_quantile(alpha: float, blocks: int) -> float:
    """Return t with P(|T| > t) = alpha for Student's T with ``blocks`` - 1 degrees of freedom."""
    return float(-scipy.special.stdtrit(blocks - 1, alpha / 2))


def studentised(value: float, error: float, quantile: float, *, positive: bool) -> Interval:
    """Return value ± quantile·error; for a positive quantity on the logarithmic scale."""
    if positive and value > 0:
        factor = math.exp(quantile * error / value)
        return value / factor, value * factor
    return value - quantile * error, value + quantile * error


def scored(value: float, block_variance: float, blocks: int, z: float, *, positive: bool) -> Interval:
    """Return all v that a score test with the derived block variance does not reject.

    For a positive quantity ``block_variance`` is relative to v², so the bounds are value/(1 ± z√(r/B));
    else it is absolute, and they are value ± z√(r/B).

    Raises:
        ValueError: too few blocks for the upper bound to be finite.
    """
    # Of a positive quantity the spread is a share of the unknown v, not of what was measured.
    spread = z * math.sqrt(block_variance / blocks)
    if not positive:
        return value - spread, value + spread
    if spread >= 1:
        raise ValueError(f"{blocks} blocks are too few for a finite score interval")
    return value / (1 + spread), value / (1 - spread)


def skewness_corrected(value: float, error: float, skewness: float, blocks: int, quantile: float) -> Interval:
    """Return the studentised interval through Hall's monotone cubic transformation.

    Source: P. Hall, On the removal of skewness by transformation, J. R. Stat. Soc. B 54 (1992), 221-228.
    """
    root = math.sqrt(blocks)

    def inverse(x: float) -> float:
        core = x / root - skewness / (6 * blocks)
        part = skewness * core
        # Of a cube root so near to 1, too few digits would be left.
        if abs(part) < 1e-6:
            return root * core * (1 - part / 3)
        return float(3 * root / skewness * (np.cbrt(1 + part) - 1))

    return value - error * inverse(quantile), value - error * inverse(-quantile)


def is_reliable(skewness: float, alpha: float) -> bool:
    """Return whether an estimate of this skewness is normal enough in its tails: |γ|z³/3 ≤ 0.6.

    The skewness of a mean of B blocks is that of a block over √B.
    """
    return abs(skewness) * normal_quantile(alpha) ** 3 / 3 <= SKEWNESS_LIMIT


def least_blocks(skewness: float, alpha: float) -> int:
    """Return the fewest blocks of this skewness whose mean is reliable."""
    return math.ceil((abs(skewness) * normal_quantile(alpha) ** 3 / (3 * SKEWNESS_LIMIT)) ** 2)


def divergence(mean: float, other: float) -> float:
    """Return the Kullback-Leibler divergence of 0-1 variables, from mean ``other`` to ``mean``."""
    return float(scipy.special.rel_entr(mean, other) + scipy.special.rel_entr(1 - mean, 1 - other))


def bounded_mean(value: float, alpha: float, blocks: int) -> Interval:
    """Return the interval of the mean of blocks that lie between 0 and 1, whatever their distribution.

    All means μ for which B·KL(value, μ) is at most log(2/alpha), with the divergence of 0-1 variables.
    Source: W. Hoeffding, Probability Inequalities for Sums of Bounded Random Variables, J. Am. Stat. Assoc.
    58 (1963), 13-30, theorem 1; it holds for every sample size.
    """
    # Each end has half of the rate; the upper end is the lower end of what is left to 1.
    allowed = math.log(2 / alpha) / blocks

    def lower(mean: float) -> float:
        def excess(other: float) -> float:
            return divergence(mean, other) - allowed

        return float(scipy.optimize.brentq(excess, 1e-300, mean, xtol=1e-12)) if excess(1e-300) > 0 else 0.0

    return lower(value), 1 - lower(1 - value)


def kolmogorov(alpha: float, scores: int) -> float:
    """Return the half-width that the empirical distribution of independent scores keeps to.

    Source: P. Massart, The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality, Ann. Probab. 18
    (1990), 1269-1283; it holds for every sample size.
    """
    return math.sqrt(math.log(2 / alpha) / (2 * scores))


def noncentrality(statistic: float, freedom: int, alpha: float) -> Interval:
    """Return the interval of the noncentrality of a chi-square statistic, by inverting its distribution."""

    def bound(tail: float) -> float:
        def excess(noncentral: float) -> float:
            return float(scipy.special.chndtr(statistic, freedom, noncentral)) - tail

        if scipy.special.chdtr(freedom, statistic) <= tail:
            return 0.0
        high = max(1.0, statistic)
        while excess(high) > 0:
            high *= 2
        return float(scipy.optimize.brentq(excess, 0.0, high, xtol=1e-9, rtol=1e-12))

    return bound(1 - alpha / 2), bound(alpha / 2)


# Groups whose means are put in order: two of those that blocks are dealt to, together.
_COMPARED = GROUPS // 2
# A mean of B numbers z is normal but for a probability of 0.33554(ρ + 0.415)/√B, with ρ = E|z|³.
_NORMAL_BY, _AND_BY = 0.33554, 0.415

_UNDERRATED = 2.0  # true over sampled deviation at most, in an interval of group means
_ROUGH = 1.5  # how many times the blocks are planned that a pilot's skewness asks for, which is rough

# Every distribution of skewness γ has a kurtosis of at least γ² + 1; this multiple of it is allowed for.
_KURTOSIS_PER_SKEWNESS = 4.0


@dataclass(frozen=True)
class Linearised:
    """A sample's blocks reduced to one number each: their statistics times ``slope``."""

    sample: Sample
    slope: Array

    @cached_property
    def variance(self) -> float:
        """The variance of one block.

        Raises:
            ValueError: it is not finite.
        """
        variance = float(self.slope @ self.sample.covariance @ self.slope)
        if not math.isfinite(variance):
            raise ValueError("a block's variance is not finite: what is measured is too large")
        return max(0.0, variance)

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return math.sqrt(self.variance / self.sample.blocks)

    @cached_property
    def skewness(self) -> float:
        """The skewness of one block; 0 where blocks do not differ."""
        third = float(np.einsum("ijk,i,j,k->", self.sample.third, *3 * (self.slope,)))
        return third / self.variance**1.5 if self.variance > 0 else 0.0

    @property
    def kurtosis_provided(self) -> float:
        """The kurtosis of a block that is provided for, several times the least that its skewness allows."""
        return _KURTOSIS_PER_SKEWNESS * (self.skewness**2 + 1)

    @property
    def groups(self) -> Array:
        """The groups' means, less the mean of all; none where not every group has a block."""
        return (self.sample.groups - self.sample.mean) @ self.slope


def blocks_for_groups(linear: Linearised, alpha: float) -> int:
    """Return the blocks from which on the interval of group means holds at ``alpha``."""
    exponent = (1 - _UNDERRATED**-2) ** 2 / (2 * linear.kurtosis_provided)
    return max(GROUPS, math.ceil(math.log(2 / alpha) / exponent))


def groups_within(linear: Linearised, alpha: float, miss: float, width: float) -> int:
    """Return the blocks of which the interval of group means lies within ``width`` but for chance ``miss``.

    ``linear`` is a pilot sample, as rough as that is.
    """
    # By order: where the mean of each rank lies (Blom's levels), with its scatter, in standard deviations.
    chances = _chances(alpha)
    levels = (np.arange(1, len(chances) + 1) - 0.375) / (_COMPARED + 0.25)
    ends = scipy.special.ndtri(levels)
    scatter = np.sqrt(2 * math.pi * levels * (1 - levels)) * np.exp(ends**2 / 2)
    by_order = -ends * math.sqrt(_COMPARED) - scatter * scipy.special.ndtri(miss / 2)
    room = np.maximum(0.5 - chances, 1e-9)
    for_normality = _ROUGH * _COMPARED * (_abnormality(linear) / room) ** 2
    # By the median, which asks for no normality but for two deviations more.
    median = max(rank_below(0.5, alpha), 1) - 1
    deviations = np.append(by_order, by_order[median] + _UNDERRATED * math.sqrt(_COMPARED))
    least = np.append(for_normality, blocks_for_groups(linear, alpha))
    blocks = np.maximum(linear.variance * (deviations / width) ** 2, least)
    return math.ceil(min(float(np.min(blocks)), sys.maxsize))


def of_groups(linear: Linearised, alpha: float) -> Interval | None:
    """Return the interval of the blocks' mean, less the estimate, whatever their skewness; None if too few.

    Its ends are order statistics of the groups' means. These lie below the mean of a block with probability
    ½, but for the distance of a group's mean from a normal law, and as often above it; so the ends enclose it
    at ``alpha``/2. Where groups are too small for that distance to be small, order statistics enclose the
    median of group means, which lies within a standard deviation of their mean. Twice the sampled
    deviation is allowed for it, too little with probability ``alpha``/2 at most. Both hold for every
    kurtosis up to ``kurtosis_provided``.

    Source: L. Devroye, M. Lerasle, G. Lugosi and R. Oliveira, Sub-Gaussian mean estimators, Ann. Stat. 44
    (2016), 2695-2725, for groups; I. Shevtsova, On the absolute constants in the Berry-Esseen type
    inequalities for identically distributed summands, arXiv:1111.6554 (2011), for the distance; H. Hotelling
    and L. Solomons, The limits of a measure of skewness, Ann. Math. Stat. 3 (1932), 141-142, for the median.
    """
    if not linear.groups.size or linear.sample.blocks < blocks_for_groups(linear, alpha):
        return None
    size = 2 * (linear.sample.blocks // GROUPS)
    # Order statistics of the mean itself; where groups are too small for them, of the median, which is wider.
    rank, beyond = rank_below(0.5 - _abnormality(linear) / math.sqrt(size), alpha), 0.0
    if rank == 0:
        rank, beyond = rank_below(0.5, alpha), _UNDERRATED * math.sqrt(linear.variance / size)
    if rank == 0:
        return None
    # Two groups each are put together. The first groups may have a block more than the last.
    sizes = (linear.sample.blocks + np.arange(GROUPS)[::-1]) // GROUPS
    sums = (linear.groups * sizes).reshape(2, -1).sum(axis=0)
    means = np.sort(sums / sizes.reshape(2, -1).sum(axis=0))
    low, high = means[rank - 1] - beyond, means[-rank] + beyond
    return min(0.0, float(low)), max(0.0, float(high))


def _abnormality(linear: Linearised) -> float:
    """Return how far a mean of blocks is from a normal law, times the root of the number of blocks.

    By Lyapunov's inequality E|z|³ is at most the root of the kurtosis.
    """
    return _NORMAL_BY * (math.sqrt(linear.kurtosis_provided) + _AND_BY)


def rank_below(chance: float, alpha: float) -> int:
    """Return the rank of the group's mean that lies beyond a point with probability ``alpha``/4 at most.

    Of a point below which a group's mean lies with at least this ``chance``; 0 if there is none.
    """
    return int(np.searchsorted(_chances(alpha), chance, side="right"))


@cache
def _chances(alpha: float) -> Array:
    """Return for every rank up to the middle the chance that a group's mean must have to lie below a point.

    With it, fewer means than the rank lie there with probability ``alpha``/4.
    """
    ranks = np.arange(1, _COMPARED // 2 + 1)
    chances = 1 - scipy.special.betaincinv(_COMPARED - ranks + 1, ranks, alpha / 4)
    return np.asarray(chances, np.float64)
