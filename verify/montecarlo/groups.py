"""What the scatter of groups of blocks tells: an interval without skewness, and wrong block variances."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from verify.montecarlo.blocks import GROUPS

if TYPE_CHECKING:
    from verify.montecarlo.blocks import Sample
    from verify.montecarlo.distributions import Array
    from verify.montecarlo.intervals import Interval

FALSE_CONTRADICTION = 1e-6
"""Probability at most with which a right block variance is said to be contradicted, at one look."""

_UNDERRATED = 2.0
"""How many times the sampled deviation the true one may be, in an interval of group means."""

_GROSS = 4.0
"""A derived block variance is contradicted from below only if it is so many times the sampled one."""

_KURTOSIS_PER_SKEWNESS = 4.0
"""Every distribution of skewness γ has a kurtosis of at least γ² + 1; so many times that is provided for."""


@dataclass(frozen=True)
class Linearised:
    """A sample's blocks reduced to one number each: their statistics times ``slope``."""

    sample: Sample
    slope: Array

    @cached_property
    def variance(self) -> float:
        """The variance of one block."""
        return max(0.0, float(self.slope @ self.sample.covariance @ self.slope))

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return math.sqrt(self.variance / self.sample.blocks)

    @cached_property
    def skewness(self) -> float:
        """The skewness of one block; 0 where blocks do not differ."""
        third = float(np.einsum("ijk,i,j,k->", self.sample.third, self.slope, self.slope, self.slope))
        return third / self.variance**1.5 if self.variance > 0 else 0.0

    @property
    def kurtosis_provided(self) -> float:
        """The kurtosis of a block that is provided for, several times the least that its skewness allows."""
        return _KURTOSIS_PER_SKEWNESS * (self.skewness**2 + 1)

    @property
    def group_size(self) -> int:
        """Blocks in the smallest group."""
        return self.sample.blocks // GROUPS

    @cached_property
    def groups(self) -> Array:
        """The groups' means, less the mean of all; none where not every group has a block."""
        if not self.sample.groups.size:
            return np.zeros(0)
        means: Array = (self.sample.groups - self.sample.mean) @ self.slope
        return means


def underrating(blocks: int, kurtosis: float, share: float) -> float:
    """Return a bound of the probability that the sampled variance is ``share`` of the true one or less.

    For blocks of at most this ``kurtosis``. Source: A. Maurer, A bound on the deviation probability for sums
    of non-negative random variables, J. Inequal. Pure Appl. Math. 4 (2003), 15, for the squared deviations.
    """
    return math.exp(-blocks * (1 - share) ** 2 / (2 * kurtosis))


def blocks_needed(linear: Linearised, alpha: float) -> int:
    """Return the blocks from which on the interval of group means holds at ``alpha``."""
    exponent = (1 - _UNDERRATED**-2) ** 2 / (2 * linear.kurtosis_provided)
    return max(GROUPS, math.ceil(math.log(2 / alpha) / exponent))


def interval(linear: Linearised, alpha: float) -> Interval | None:
    """Return the interval of the blocks' mean, less the estimate, whatever their skewness; None if too few.

    Order statistics of the groups' means enclose these means' medians, at ``alpha``/2 for every distribution,
    and a median lies within one standard deviation of its mean. Twice the sampled deviation is allowed for
    it, too little with probability ``alpha``/2 at most for every kurtosis up to the one provided for.

    Source: L. Devroye, M. Lerasle, G. Lugosi and R. Oliveira, Sub-Gaussian mean estimators, Ann. Stat. 44
    (2016), 2695-2725, for groups; H. Hotelling and L. Solomons, The limits of a measure of skewness, Ann.
    Math. Stat. 3 (1932), 141-142, for the median.
    """
    rank = int(stats.binom.ppf(alpha / 4, GROUPS, 0.5))
    if rank == 0 or not linear.groups.size or linear.sample.blocks < blocks_needed(linear, alpha):
        return None
    ordered = np.sort(linear.groups)
    beyond = _UNDERRATED * math.sqrt(linear.variance / linear.group_size)
    return float(ordered[rank - 1]) - beyond, float(ordered[-rank]) + beyond


def contradiction(linear: Linearised, derived: Interval, bend: float = 0.0) -> str:
    """Return how the sample contradicts the ``derived`` variance of a block, nothing where it does not.

    ``derived`` are its least and largest value over the interval of what is estimated; ``bend`` is the block
    deviation that the error of the slope may make or hide. Too small a variance shows in groups far out: at
    most one in nine lies three deviations off, whatever the distribution (Chebyshev). Too large a one shows
    in the sampled variance, for kurtoses up to the one provided for. Either says so of a right variance with
    probability ``FALSE_CONTRADICTION`` at most.
    """
    least, most = derived
    sampled = math.sqrt(linear.variance)
    too_small = _too_far_out(linear, math.sqrt(most) + bend)
    if too_small or _too_calm(linear, math.sqrt(least), sampled + bend):
        times = f"{linear.variance / most:.2g}" if most else "infinitely many"
        return (
            f"the blocks' sampled variance is {times} times the derived one: the derived block variance "
            "or the sampler is wrong; more blocks will not help"
        )
    return ""


def _too_far_out(linear: Linearised, derived: float) -> bool:
    """Return whether more groups lie three ``derived`` deviations off than any distribution allows."""
    distances = np.abs(linear.groups) * math.sqrt(linear.group_size)
    far = int(np.count_nonzero(distances > 3 * derived))
    return far > stats.binom.isf(FALSE_CONTRADICTION, GROUPS, 1 / 9)


def _too_calm(linear: Linearised, derived: float, sampled: float) -> bool:
    """Return whether blocks of the ``derived`` deviation would vary more than those ``sampled`` do."""
    if sampled**2 * _GROSS >= derived**2:
        return False
    chance = underrating(linear.sample.blocks, linear.kurtosis_provided, (sampled / derived) ** 2)
    return chance < FALSE_CONTRADICTION
