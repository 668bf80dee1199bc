"""What the blocks of one head say of a mean: an estimate, and an interval where one holds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from verify.montecarlo import groups, intervals
from verify.montecarlo.blocks import Outputs, sample_of
from verify.montecarlo.groups import Linearised
from verify.montecarlo.intervals import betting_mean

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from verify.evidence.claims import Band
    from verify.montecarlo.estimands import Smooth
    from verify.montecarlo.intervals import Interval

    Floats = NDArray[np.float64]

FEWEST_BLOCKS = 8
"""Of fewer blocks neither variance nor skewness is known well enough for an interval."""

_SKEWED = "too skewed over so few sequences for an interval at this level"

_FOUR_IN_FIVE = intervals.normal_quantile(0.4)
"""Standard errors that an estimate is above in one of five cases."""

_STEP = 1e-6
"""Relative step of the slope that a standard error is taken through."""


@dataclass(frozen=True)
class Estimate:
    """A value with its standard error and interval, and how many independent blocks it rests on.

    ``value`` is NaN where there is none, and ``error`` then None.

    ``interval`` is None where none holds at the level wanted; then ``doubt`` says why. ``needed`` are the
    blocks from which on there may be one, None where that is not known.
    """

    value: float
    error: float | None
    interval: Interval | None
    blocks: int
    doubt: str = ""
    needed: int | None = None


class Estimand(Protocol):
    """A quantity that is estimated from block vectors."""

    def estimate(self, blocks: Floats, alpha: float) -> Estimate:
        """Return the estimate from ``blocks``, shape (blocks, statistics); it misses at ``alpha``."""


@dataclass(frozen=True)
class BoundedMean:
    """The mean of one block statistic between 0 and 1, or a monotone function of it.

    The interval holds for every law and any number of blocks.
    """

    position: int
    function: Callable[[float], float] = float

    def estimate(self, blocks: Floats, alpha: float) -> Estimate:
        """Return the estimate with its interval by betting."""
        values = np.clip(blocks[:, self.position], 0.0, 1.0)
        mean = float(np.mean(values))
        ends = sorted(self.function(end) for end in betting_mean(values, alpha))
        step = _STEP * mean
        slope = abs(self.function(mean + step) - self.function(mean)) / step if step else 0.0
        return Estimate(self.function(mean), _error(slope * values), (ends[0], ends[1]), len(values))


@dataclass(frozen=True)
class ShareOfBlocks:
    """The share of blocks that have something: the mean of one statistic that is 0 or 1."""

    position: int

    def estimate(self, blocks: Floats, alpha: float) -> Estimate:
        """Return the share with its interval for 0-1 variables, whatever the number of blocks."""
        values = blocks[:, self.position]
        mean = float(np.mean(values))
        return Estimate(mean, _error(values), intervals.bounded_mean(mean, alpha, len(values)), len(values))


@dataclass(frozen=True)
class MeanFunction:
    """A smooth function of the blocks' mean vector, whose statistics have these names and no bounds."""

    smooth: Smooth
    names: tuple[str, ...]

    def estimate(self, blocks: Floats, alpha: float) -> Estimate:
        """Return the estimate with Student's interval, where the blocks are enough and not too skewed."""
        count = len(blocks)
        with np.errstate(all="ignore"):
            value = self.smooth.value(Outputs(zip(self.names, blocks.mean(axis=0), strict=True)))
        if not math.isfinite(value):
            return Estimate(math.nan, None, None, count, "it has no value, for all of it is 0")
        if count < FEWEST_BLOCKS:
            doubt = f"{count} {'sequence is' if count == 1 else 'sequences are'} too few for an interval"
            return Estimate(value, None, None, count, doubt, FEWEST_BLOCKS)
        sample = sample_of(blocks, self.names)
        measured = self.smooth.measure(sample, alpha)
        if measured.reliable:
            # Corrected for skewness alone, the interval misses too often with some dozens of blocks.
            quantile = intervals.student_quantile(alpha, count)
            plain = intervals.studentised(measured.value, measured.error, quantile, positive=False)
            return Estimate(measured.value, measured.error, intervals.hull(measured.interval, plain), count)
        if not measured.error:
            return Estimate(
                measured.value, 0.0, None, count, "all sequences agree, so nothing tells how others do"
            )
        linear = Linearised(sample, self.smooth.gradient(sample.outputs))
        needed = min(intervals.least_blocks(linear.skewness, alpha), groups.blocks_needed(linear, alpha))
        return Estimate(measured.value, measured.error, None, count, _SKEWED, max(needed, count + 1))


def blocks_needed(estimate: Estimate, band: Band) -> int | None:
    """Return about how many blocks would decide, None where the estimate is too near an edge to say.

    Without an interval it is the number from which on there may be one, which is the least it takes. The
    half-width falls at least with the root of the number of blocks. What so many will give as their estimate
    differs from this one by both their standard errors: in four of five cases they decide.
    """
    if estimate.interval is None:
        return estimate.needed
    edges = [edge for edge in band if edge is not None]
    distance = min((abs(edge - estimate.value) for edge in edges), default=math.inf)
    low, high = estimate.interval
    width = max(high - estimate.value, estimate.value - low)
    error = _FOUR_IN_FIVE * (width if estimate.error is None else estimate.error)
    if not distance > error:
        return None
    # Errors e of n blocks and of N: the width is w √(n/N), and √(1 + n/N) < 1 + √(n/N).
    ratio = (width + error) / (distance - error)
    return max(estimate.blocks + 1, math.ceil(estimate.blocks * ratio**2))


def _error(values: Floats) -> float | None:
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else None
