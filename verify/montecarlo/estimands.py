"""What is estimated from a sample of blocks, with its interval and the blocks it needs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from verify.montecarlo import intervals

if TYPE_CHECKING:
    from collections.abc import Callable

    from verify.montecarlo.blocks import Sample
    from verify.montecarlo.components import Array
    from verify.montecarlo.intervals import Interval

MIN_BLOCKS = 128
"""Fewer blocks than this are never judged: the block mean must be close to normal in its far tails."""

SKEWNESS_CAP = 32
"""Skewness may raise a planned sample by this factor and no further; the looks may double it as often."""

PILOT_BLOCKS = 1024
"""Blocks that tell variance and skewness where neither is derived; the planned sample goes on from them."""


@dataclass(frozen=True)
class Measured:
    """An estimate: value, standard error, simultaneous interval, and what it rests on.

    ``model_error`` is the standard error from the derived block variance, where there is one.
    ``skewness`` is that of the estimate where the interval corrects for it, 0 where a derived variance
    makes that needless; ``reliable`` is False where it is too large for the level.
    """

    value: float
    error: float
    interval: Interval
    blocks: int
    coordinates: int
    model_error: float | None = None
    skewness: float = 0.0
    reliable: bool = True


@dataclass(frozen=True)
class Goal:
    """What a sample is planned for: level, chance of missing, and the half-width wanted.

    With ``alpha`` the false-exclusion rate, ``miss`` = 1 - power, and ``width`` in the quantity's units.
    """

    alpha: float
    miss: float
    prediction: float
    width: float

    def deviations(self) -> float:
        """Return how many standard errors the half-width must span."""
        return intervals.normal_quantile(self.alpha) + intervals.normal_quantile(self.miss)


class Estimand(Protocol):
    """A quantity that can be estimated from a sample of blocks."""

    def measure(self, sample: Sample, alpha: float) -> Measured:
        """Return the estimate with its interval at false-exclusion rate ``alpha``."""

    def blocks_needed(self, goal: Goal, pilot: Sample | None) -> int | None:
        """Return the blocks that reach ``goal``, or None if that takes a pilot sample to know."""


@dataclass(frozen=True)
class Smooth:
    """A smooth function of the block mean, with an interval by the delta method.

    ``block_variance`` is the derived variance of one block's (linearised) statistic: for a positive
    quantity relative to its square, else absolute. With it, the interval is the hull of the studentised
    and the score interval; without it, the studentised one corrected for skewness.
    """

    value: Callable[[Array], float]
    gradient: Callable[[Array], Array]
    positive: bool
    block_variance: float | None = None

    def measure(self, sample: Sample, alpha: float) -> Measured:
        """Return the estimate with its interval at false-exclusion rate ``alpha``."""
        slope = self.gradient(sample.mean)
        value = self.value(sample.mean)
        variance = float(slope @ sample.covariance @ slope)
        error = math.sqrt(variance / sample.blocks)
        quantile = intervals.student_quantile(alpha, sample.blocks)
        if self.block_variance is None:
            skewness = self._skewness(sample, slope)
            interval = intervals.skewness_corrected(value, error, skewness, sample.blocks, quantile)
            of_mean = skewness / math.sqrt(sample.blocks)
            # Blocks that all agree may have missed a rare event: no spread is no information.
            reliable = variance > 0 and intervals.is_reliable(of_mean, alpha)
            return Measured(
                value, error, interval, sample.blocks, sample.coordinates, skewness=of_mean, reliable=reliable
            )
        z = intervals.normal_quantile(alpha)
        interval = intervals.hull(
            intervals.studentised(value, error, quantile, positive=self.positive),
            intervals.scored(value, self.block_variance, sample.blocks, z, positive=self.positive),
        )
        model = math.sqrt(self.block_variance / sample.blocks) * (abs(value) if self.positive else 1.0)
        return Measured(value, error, interval, sample.blocks, sample.coordinates, model)

    def blocks_needed(self, goal: Goal, pilot: Sample | None) -> int | None:
        """Return the blocks that reach ``goal``, or None if that takes a pilot sample to know."""
        for_skewness = 0
        if self.block_variance is not None:
            unit = goal.prediction**2 if self.positive else 1.0
            variance = self.block_variance * unit
        elif pilot is not None:
            slope = self.gradient(pilot.mean)
            variance = float(slope @ pilot.covariance @ slope)
            # A pilot's skewness is rough, and the next look's level is four times smaller.
            for_skewness = 2 * intervals.least_blocks(self._skewness(pilot, slope), goal.alpha)
        else:
            return None
        # The upper bound of a positive quantity lies further off than the lower one.
        stretch = 1 + goal.width / abs(goal.prediction) if self.positive and goal.prediction else 1.0
        width = goal.width / stretch
        for_width = max(MIN_BLOCKS, math.ceil(variance * (goal.deviations() / width) ** 2))
        # Where the tails are so heavy that even this many are not reliable, undecided is the honest end.
        return max(for_width, min(for_skewness, SKEWNESS_CAP * for_width))

    @staticmethod
    def _skewness(sample: Sample, slope: Array) -> float:
        variance = float(slope @ sample.covariance @ slope)
        third = float(np.einsum("ijk,i,j,k->", sample.third, slope, slope, slope))
        return third / variance**1.5 if variance > 0 else 0.0


@dataclass(frozen=True)
class DistanceToLaw:
    """The largest gap between the measured and a given distribution function at the sampler's grid.

    The sampler's statistics are fractions of independent scores at or below each grid point; ``law`` is the
    given function there. The interval is the Dvoretzky-Kiefer-Wolfowitz-Massart one, exact for any size.
    """

    law: tuple[float, ...]

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
    """The mean of one block statistic between 0 and 1, such as a share, or with ``signed`` of 2x - 1.

    The interval holds for every law and every number of blocks, so nothing need be known of variance or
    skewness: the estimand for blocks that are too dear to draw by the thousand.
    """

    position: int
    signed: bool = False

    def measure(self, sample: Sample, alpha: float) -> Measured:
        """Return the mean with its interval at false-exclusion rate ``alpha``."""
        # Rounding may carry a mean of ones over 1.
        share = min(max(float(sample.mean[self.position]), 0.0), 1.0)
        low, high = intervals.bounded_mean(share, alpha, sample.blocks)
        error = 0.5 / math.sqrt(sample.blocks)
        if self.signed:
            share, low, high, error = 2 * share - 1, 2 * low - 1, 2 * high - 1, 2 * error
        return Measured(share, error, (low, high), sample.blocks, sample.coordinates)

    def blocks_needed(self, goal: Goal, pilot: Sample | None) -> int | None:  # noqa: ARG002  # needs none
        """Return the blocks that reach ``goal`` whatever the law: a mean near an end takes fewer."""
        both = math.sqrt(math.log(2 / goal.alpha)) + math.sqrt(math.log(2 / goal.miss))
        centre, width = goal.prediction, goal.width
        if self.signed:
            centre, width = (centre + 1) / 2, width / 2
        rates = [intervals.divergence(centre, end) for end in (centre - width, centre + width) if 0 < end < 1]
        return max(MIN_BLOCKS, math.ceil(both**2 / min(rates))) if rates else MIN_BLOCKS


def pilot_blocks(estimand: Estimand) -> int:
    """Return how many blocks a pilot of ``estimand`` takes: few where it only has to tell the mean."""
    return MIN_BLOCKS if isinstance(estimand, Bounded) else PILOT_BLOCKS


@dataclass(frozen=True)
class Quantile:
    """The value below which the share ``level`` lies, found among the points of ``grid``.

    The sampler's statistics from position ``first`` on are shares of values at or below each grid point; a
    sampler that keeps no covariances holds independent values, whose shares are binomial.
    The interval ends at grid points whose own shares' intervals exclude the level, each end at half the
    rate: it needs neither a density nor a normal law, and is as wide as the grid is coarse.
    """

    grid: tuple[float, ...]
    first: int = 0
    level: float = 0.5

    def measure(self, sample: Sample, alpha: float) -> Measured:
        """Return the quantile with its interval; not reliable where the grid does not hold it."""
        shares, errors = self._shares(sample)
        half = intervals.student_quantile(alpha, sample.blocks) * errors
        below = np.flatnonzero(shares + half < self.level)
        above = np.flatnonzero(shares - half > self.level)
        held = bool(below.size and above.size)
        low = self.grid[below[-1]] if held else self.grid[0]
        high = self.grid[above[0]] if held else self.grid[-1]
        value = min(max(float(np.interp(self.level, shares, self.grid)), low), high)
        error = (high - low) / (2 * intervals.student_quantile(alpha, sample.blocks))
        return Measured(value, error, (low, high), sample.blocks, sample.coordinates, reliable=held)

    def blocks_needed(self, goal: Goal, pilot: Sample | None) -> int | None:
        """Return the blocks that reach ``goal``; the pilot tells the density at the quantile."""
        if pilot is None:
            return None
        shares, errors = self._shares(pilot)
        at = int(np.clip(np.searchsorted(shares, self.level), 1, len(self.grid) - 1))
        left, right = max(at - 2, 0), min(at + 1, len(self.grid) - 1)
        density = (shares[right] - shares[left]) / (self.grid[right] - self.grid[left])
        if not density > 0:
            return None
        spread = math.sqrt(pilot.blocks) * float(np.max(errors[at - 1 : at + 1])) / density
        # An end moves outwards to the next grid point.
        step = self.grid[at] - self.grid[at - 1]
        width = max(goal.width - step, goal.width / 2)
        return max(MIN_BLOCKS, math.ceil(float(spread * goal.deviations() / width) ** 2))

    def _shares(self, sample: Sample) -> tuple[Array, Array]:
        part = slice(self.first, self.first + len(self.grid))
        shares = sample.mean[part]
        if not sample.covariance.size:
            return shares, np.sqrt(shares * (1 - shares) / sample.scores)
        variances = np.maximum(np.diagonal(sample.covariance)[part], 0)
        return shares, np.sqrt(variances / sample.blocks)


@dataclass(frozen=True)
class Ratio:
    """The quotient of two positive estimands of one sample; each has half of the false-exclusion rate."""

    over: Estimand
    under: Estimand

    def measure(self, sample: Sample, alpha: float) -> Measured:
        """Return the quotient; its interval holds whenever both estimands' intervals do."""
        top, bottom = (one.measure(sample, alpha / 2) for one in (self.over, self.under))
        value = top.value / bottom.value
        interval = (top.interval[0] / bottom.interval[1], top.interval[1] / bottom.interval[0])
        error = value * (top.error / top.value + bottom.error / bottom.value)
        reliable = top.reliable and bottom.reliable
        return Measured(value, error, interval, sample.blocks, sample.coordinates, reliable=reliable)

    def blocks_needed(self, goal: Goal, pilot: Sample | None) -> int | None:
        """Return the blocks at which both estimands are known to half the relative width of ``goal``."""
        if pilot is None:
            return None
        needed = []
        for one in (self.over, self.under):
            size = one.measure(pilot, goal.alpha).value
            width = goal.width / abs(goal.prediction) / 2 * size
            part = Goal(goal.alpha / 2, goal.miss / 2, prediction=size, width=width)
            needed.append(one.blocks_needed(part, pilot) or MIN_BLOCKS)
        return max(needed)


def ratio(over: int, under: int, power: float = 1.0) -> Smooth:
    """Return (m_over / m_under)^power of two positive block statistics; ½ for root-mean-square values."""

    def value(mean: Array) -> float:
        return math.pow(mean[over] / mean[under], power)

    def gradient(mean: Array) -> Array:
        slope = np.zeros_like(mean)
        slope[over] = power * value(mean) / mean[over]
        slope[under] = -power * value(mean) / mean[under]
        return slope

    return Smooth(value, gradient, positive=True)


def component(position: int, factor: float = 1.0, block_variance: float | None = None) -> Smooth:
    """Return the mean of one block statistic times ``factor``, on the whole real line."""

    def gradient(mean: Array) -> Array:
        slope = np.zeros_like(mean)
        slope[position] = factor
        return slope

    return Smooth(
        lambda mean: factor * float(mean[position]), gradient, positive=False, block_variance=block_variance
    )


def variance(first: int, second: int, block_variance: float | None = None) -> Smooth:
    """Return E S² - (E S)² from the positions of mean S and mean S²; positive."""

    def gradient(mean: Array) -> Array:
        slope = np.zeros_like(mean)
        slope[first] = -2 * mean[first]
        slope[second] = 1.0
        return slope

    return Smooth(
        lambda mean: float(mean[second] - mean[first] ** 2),
        gradient,
        positive=True,
        block_variance=block_variance,
    )
