"""Estimands that ask little of the distribution: distances to one, means of what is bounded, quantiles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from verify.montecarlo import intervals
from verify.montecarlo.estimands import MIN_BLOCKS, PILOT_BLOCKS, Measured
from verify.montecarlo.statistics.base import SHARE, numbered

if TYPE_CHECKING:
    from verify.montecarlo.blocks import Outputs, Sample
    from verify.montecarlo.distributions import Array
    from verify.montecarlo.estimands import Goal


OFF_GRID = "the grid does not hold the interval of the quantile: widen the grid, or draw more blocks"
"""Why a quantile is in doubt."""


@dataclass(frozen=True)
class DistanceToLaw:
    """The largest gap between the measured and a given distribution function at the sampler's grid.

    The sampler's statistics are fractions of independent scores at or below each grid point; ``law`` is the
    given function there. The interval is the Dvoretzky-Kiefer-Wolfowitz-Massart one, exact for any size.
    """

    law: tuple[float, ...]
    kind: ClassVar[str] = "distance to a law"
    pilot_blocks: ClassVar[int] = PILOT_BLOCKS

    def measure(self, sample: Sample, alpha: float) -> Measured:
        """Return the distance with its interval at false-exclusion rate ``alpha``."""
        value = float(np.max(np.abs(sample.mean - np.asarray(self.law))))
        half = intervals.kolmogorov(alpha, sample.scores)
        error = 0.5 / math.sqrt(sample.scores)
        interval = (max(0.0, value - half), min(1.0, value + half))
        return Measured(value, error, interval, sample.blocks, sample.coordinates)

    def blocks_needed(self, goal: Goal, pilot: Sample | None) -> int | None:
        """Return the blocks that reach ``goal``; the pilot tells how many scores a block holds."""
        if pilot is None:
            return None
        both = intervals.kolmogorov(goal.alpha, 1) + intervals.kolmogorov(goal.miss, 1)
        return max(MIN_BLOCKS, math.ceil((both / goal.width) ** 2 * pilot.blocks / pilot.scores))


@dataclass(frozen=True)
class Bounded:
    """The mean of one output between 0 and 1, such as a share, or with ``signed`` of 2x - 1.

    The interval holds for every distribution and every number of blocks, so nothing need be known of variance
    or skewness: the estimand for blocks that are too dear to draw by the thousand.
    """

    output: str
    signed: bool = False
    kind: ClassVar[str] = "mean of what is bounded"
    pilot_blocks: ClassVar[int] = MIN_BLOCKS

    def value(self, mean: Outputs) -> float:
        """Return the mean that is estimated, at a block mean."""
        share = float(mean[self.output])
        return 2 * share - 1 if self.signed else share

    def measure(self, sample: Sample, alpha: float) -> Measured:
        """Return the mean with its interval at false-exclusion rate ``alpha``."""
        # Rounding may carry a mean of ones over 1.
        share = min(max(float(sample.outputs[self.output]), 0.0), 1.0)
        low, high = intervals.bounded_mean(share, alpha, sample.blocks)
        error = math.sqrt(self._variance(sample, share) / sample.blocks)
        if self.signed:
            share, low, high, error = 2 * share - 1, 2 * low - 1, 2 * high - 1, 2 * error
        return Measured(share, error, (low, high), sample.blocks, sample.coordinates)

    def _variance(self, sample: Sample, share: float) -> float:
        """Return a block's variance; of blocks that all agree, or kept no variance, the most it can be."""
        kept = (
            float(np.diagonal(sample.covariance)[sample.place(self.output)])
            if sample.covariance.size
            else 0.0
        )
        # With half a block more on either side: blocks that agree do not make the mean certain.
        smoothed = (sample.blocks * share + 0.5) / (sample.blocks + 1)
        return kept if kept > 0 else smoothed * (1 - smoothed)

    def blocks_needed(self, goal: Goal, pilot: Sample | None) -> int | None:  # noqa: ARG002  # needs none
        """Return the blocks that reach ``goal`` whatever the distribution: a mean near an end takes fewer."""
        # No numbers between the same ends vary more than 0 and 1 do.
        both = math.sqrt(math.log(2 / goal.alpha)) + intervals.normal_quantile(goal.miss) / math.sqrt(2)
        centre, width = goal.prediction, goal.width
        if self.signed:
            centre, width = (centre + 1) / 2, width / 2
        rates = [intervals.divergence(centre, end) for end in (centre - width, centre + width) if 0 < end < 1]
        return max(MIN_BLOCKS, math.ceil(both**2 / min(rates))) if rates else MIN_BLOCKS


@dataclass(frozen=True)
class Quantile:
    """The value below which the share ``level`` lies, found among the points of ``grid``.

    The outputs ``of``-0, ``of``-1, … are shares of values at or below each grid point; a sampler that
    keeps no covariances holds independent values, whose shares are binomial.
    The interval ends at grid points whose own shares exclude the level, each end at half the rate, and is as
    wide as the grid is coarse. It needs no density. For independent values it holds for every distribution
    and every number of them; for blocks of dependent ones the shares' means are studentised.
    """

    grid: tuple[float, ...]
    of: str = SHARE
    level: float = 0.5
    kind: ClassVar[str] = "quantile"
    pilot_blocks: ClassVar[int] = PILOT_BLOCKS

    def measure(self, sample: Sample, alpha: float) -> Measured:
        """Return the quantile with its interval; not reliable where the grid does not hold it."""
        shares, errors = self._shares(sample)
        if sample.covariance.size:
            far = np.abs(shares - self.level) > intervals.student_quantile(alpha, sample.blocks) * errors
        else:
            far = intervals.excluded(shares, self.level, alpha, sample.scores)
        below = np.flatnonzero(far & (shares < self.level))
        above = np.flatnonzero(far & (shares > self.level))
        held = bool(below.size and above.size)
        low = self.grid[below[-1]] if held else self.grid[0]
        high = self.grid[above[0]] if held else self.grid[-1]
        value = min(max(float(np.interp(self.level, shares, self.grid)), low), high)
        error = (high - low) / (2 * intervals.student_quantile(alpha, sample.blocks))
        return Measured(
            value, error, (low, high), sample.blocks, sample.coordinates, doubt="" if held else OFF_GRID
        )

    def blocks_needed(self, goal: Goal, pilot: Sample | None) -> int | None:
        """Return the blocks that reach ``goal``; the pilot tells the density at the quantile."""
        if pilot is None:
            return None
        shares, errors = self._shares(pilot)
        at = int(np.clip(np.searchsorted(shares, self.level), 1, len(self.grid) - 1))
        left, right = max(at - 2, 0), min(at + 1, len(self.grid) - 1)
        # Closer points would tell the density from too few values.
        left = min(left, int(np.searchsorted(self.grid, self.grid[at] - goal.width)))
        right = max(right, int(np.searchsorted(self.grid, self.grid[at] + goal.width)) - 1)
        density = (shares[right] - shares[left]) / (self.grid[right] - self.grid[left])
        if not density > 0:
            return None
        spread = math.sqrt(pilot.blocks) * float(np.max(errors[at - 1 : at + 1])) / density
        # An end moves outwards to the next grid point.
        step = self.grid[at] - self.grid[at - 1]
        width = max(goal.width - step, goal.width / 2)
        deviations = goal.deviations()
        if not pilot.covariance.size:
            deviations = math.sqrt(2 * math.log(2 / goal.alpha)) + intervals.normal_quantile(goal.miss)
        return max(MIN_BLOCKS, math.ceil(float(spread * deviations / width) ** 2))

    def _shares(self, sample: Sample) -> tuple[Array, Array]:
        first = sample.place(numbered(self.of, 1)[0])
        part = slice(first, first + len(self.grid))
        shares = sample.mean[part]
        if not sample.covariance.size:
            return shares, np.sqrt(shares * (1 - shares) / sample.scores)
        variances = np.maximum(np.diagonal(sample.covariance)[part], 0)
        return shares, np.sqrt(variances / sample.blocks)
