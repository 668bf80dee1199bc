"""Quantities that are estimated from a sample of blocks, with their intervals and the blocks they need."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np
import sympy

from verify.montecarlo import intervals
from verify.montecarlo.blocks import Sample
from verify.montecarlo.distributions import Array
from verify.montecarlo.intervals import Interval, Linearised

MIN_BLOCKS = 128
"""Fewer blocks than this are never judged: the block mean must be close to normal in its far tails."""

SKEWNESS_CAP = 32
"""Skewness may raise a planned sample by this factor and no further; the looks by as much again."""

ALL_AGREE = "all blocks agree, so a rare event may have been missed; only more blocks would tell"
"""Why a mean without a derived block variance is in doubt."""

WITH_ROUNDING = "interval for the rounding of single precision"
"""Names the interval that stands in where blocks differ by rounding alone."""

# Of a value: by how much the blocks of what holds in each of them differ, and their mean may be off.
_ALIKE, _ROUNDING = 1e-7, 2.0**-24

OF_GROUPS = "interval of group means"
"""Names the interval that stands in where skewness makes the usual interval fail."""


@dataclass(frozen=True)
class Measured:
    """An estimate: value, standard error, simultaneous interval, and its basis.

    ``model_error`` is the standard error from the derived block variance, where that is derived.
    ``skewness`` is that of the estimate where the interval corrects for it, 0 where a derived variance
    makes that needless. ``doubt`` says why the interval cannot be trusted and what would help, nothing where
    it can; ``basis`` names an interval that is not the usual.
    """

    value: float
    error: float
    interval: Interval
    blocks: int
    coordinates: int
    model_error: float | None = None
    skewness: float = 0.0
    doubt: str = ""
    basis: str = ""


def too_skewed(needed: int) -> str:
    """Return why an interval is in doubt for skewness, and from how many blocks on it would not be."""
    return f"the blocks are too skewed for an interval at this level; about {needed:,} of them would do"


@dataclass(frozen=True)
class Goal:
    """The goal of a planned sample: level, chance of missing, and the half-width wanted.

    With ``alpha`` the false-exclusion rate, ``miss`` = 1 - power, and ``width`` in the quantity's units.
    """

    alpha: float
    miss: float
    prediction: float
    width: float


class Crossing(sympy.Function):  # type: ignore[misc]  # SymPy has no types
    """``Crossing(below, here, above, level)``: where the parabola through three shares reaches a level.

    The shares lie a step apart, and the place is counted in steps from the middle.
    """

    nargs = 4
    is_extended_real = True

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        """Return the derivative by a share, which is computed with the place."""
        return sympy.Function("CrossingSlope")(*self.args, argindex)


@cache
def _crossing() -> Callable[..., Any]:
    """Return a function that gives the place and its derivatives by the three shares."""
    # Of the share there, here + slope·t + bend·t²/2, this root is also that of a line, where bend is 0.
    shares = below, here, above, level = sympy.symbols("below here above level", positive=True)
    slope, bend, short = (above - below) / 2, above - 2 * here + below, level - here
    steps = 2 * short / (slope + sympy.sqrt(slope**2 + 2 * bend * short))
    parts = [steps, *(steps.diff(share) for share in shares[:3])]
    function: Callable[..., Any] = sympy.lambdify(shares, parts)
    return function


@lru_cache(maxsize=1024)
def _compiled(expression: sympy.Expr, symbols: tuple[sympy.Symbol, ...]) -> Callable[..., Any]:
    """Return a function that gives the value and the derivatives; many cells have it in common."""
    parts = [expression, *(expression.diff(symbol) for symbol in symbols)]
    crossing = {
        "Crossing": lambda *shares: _crossing()(*shares)[0],
        "CrossingSlope": lambda *shares: _crossing()(*shares[:4])[shares[4]],
    }
    function: Callable[..., Any] = sympy.lambdify(symbols, parts, [crossing, "scipy", "numpy"])
    return function


@dataclass(frozen=True)
class Smooth:
    """A smooth function of the block mean, with an interval by the delta method and SymPy's gradient.

    ``expression`` is in symbols, each of which stands for the mean of the output that ``outputs`` names.
    ``block_variance`` is the derived variance of one block's (linearised) statistic: for a positive
    quantity relative to its square, else absolute. With it, the interval holds both the studentised
    and the score interval; without it, the studentised interval corrected for skewness. ``share`` is its
    output, if it is a share of events: where every block says the same, it has the interval that holds for
    all means of bounded numbers, for that no event was seen does not mean that there are none.
    """

    expression: sympy.Expr
    outputs: tuple[tuple[sympy.Symbol, str], ...]
    positive: bool
    block_variance: float | None = None
    share: str = ""

    def at(self, mean: dict[str, Any]) -> tuple[float, Array]:
        """Return its value at the ``mean`` outputs, and its derivatives by each of them, in their order."""
        function = _compiled(self.expression, tuple(symbol for symbol, _ in self.outputs))
        value, *derivatives = map(float, function(*(mean[name] for _, name in self.outputs)))
        # Outputs that the expression is not of have the slope 0.
        slopes = dict.fromkeys(mean, 0.0)
        for (_, name), slope in zip(self.outputs, derivatives, strict=True):
            slopes[name] += slope
        return value, np.array([*slopes.values()])

    def measure(self, sample: Sample, alpha: float) -> Measured:
        """Return the estimate with its interval at false-exclusion rate ``alpha``."""
        value, slope = self.at(sample.outputs)
        linear = Linearised(sample, slope)
        if self.share and linear.error == 0 and self.block_variance is None:
            return Bounded(self.share).measure(sample, alpha)
        plain = Measured(value, linear.error, (value, value), sample.blocks, sample.coordinates)
        quantile = intervals.student_quantile(alpha, sample.blocks)
        if self.block_variance is None:
            return self._without_model(plain, linear, alpha, quantile)
        # Of the two, whichever end lies further out: a sampled variance may be too small by chance, as where
        # rare blocks did not come, and a derived one may be wrong.
        z, positive = intervals.normal_quantile(alpha), self.positive
        sampled = intervals.studentised(value, linear.error, quantile, positive=positive)
        scored = intervals.scored(value, self.block_variance, sample.blocks, z, positive=positive)
        interval = min(sampled[0], scored[0]), max(sampled[1], scored[1])
        model = math.sqrt(self._of_block(value) / sample.blocks)
        return replace(plain, interval=interval, model_error=model)

    def _of_block(self, value: float) -> float:
        """Return the derived variance of a block where the quantity is ``value``."""
        derived = self.block_variance or 0.0
        return derived * value**2 if self.positive else derived

    @staticmethod
    def _without_model(plain: Measured, linear: Linearised, alpha: float, quantile: float) -> Measured:
        """Return the estimate where no variance of a block is derived."""
        if not plain.error > 0:
            return replace(plain, doubt=ALL_AGREE)
        if plain.error * math.sqrt(plain.blocks) <= _ALIKE * abs(plain.value):
            # Rounding is no random number that more blocks would average out.
            error = math.hypot(plain.error, _ROUNDING * abs(plain.value))
            room = quantile * error
            ends = plain.value - room, plain.value + room
            return replace(plain, error=error, interval=ends, basis=WITH_ROUNDING)
        skewness = linear.skewness
        # The usual interval, corrected for skewness; that of group means where the correction would not do.
        ends = intervals.skewness_corrected(plain.value, plain.error, skewness, plain.blocks, quantile)
        usual = replace(plain, interval=ends, skewness=skewness / math.sqrt(plain.blocks))
        if intervals.is_reliable(usual.skewness, alpha):
            return usual
        wider = intervals.of_groups(linear, alpha)
        if wider is None:
            return replace(usual, doubt=too_skewed(intervals.blocks_for_groups(linear, alpha)))
        ends = (plain.value + wider[0], plain.value + wider[1])
        return replace(usual, interval=ends, basis=OF_GROUPS)

    def blocks_needed(self, goal: Goal, pilot: Sample | None) -> int | None:
        """Return the blocks that reach ``goal``, or None if that takes a pilot sample to know."""
        if self.block_variance is None and pilot is None:
            return None
        if self.share and pilot is not None:
            place = pilot.names.index(self.share)
            if pilot.covariance[place, place] == 0:
                return Bounded(self.share).blocks_needed(goal, pilot)
        # The upper bound of a positive quantity lies further off than the lower bound.
        stretch = 1 + goal.width / abs(goal.prediction) if self.positive and goal.prediction else 1.0
        width = goal.width / stretch
        linear = None
        if pilot is not None and self.block_variance is None:
            linear = Linearised(pilot, self.at(pilot.outputs)[1])
        variance = self._of_block(goal.prediction) if linear is None else linear.variance
        # The half-width must span so many standard errors.
        deviations = intervals.normal_quantile(goal.alpha) + intervals.normal_quantile(goal.miss)
        for_width = max(MIN_BLOCKS, math.ceil(variance * (deviations / width) ** 2))
        if linear is None:
            return for_width
        # A pilot's skewness is rough.
        for_skewness = math.ceil(1.25 * intervals.least_blocks(linear.skewness, goal.alpha))
        if for_skewness <= for_width:
            return for_width
        for_groups = intervals.groups_within(linear, goal.alpha, goal.miss, width)
        # Where the tails are so heavy that even this many are not reliable, undecided is the honest end.
        return max(for_width, min(for_skewness, for_groups, SKEWNESS_CAP * for_width))


@dataclass(frozen=True)
class DistanceToLaw:
    """The largest gap between the measured and a given distribution function at points of a grid.

    ``outputs`` are the names of the fractions of independent scores at or below each grid point; ``law`` is
    the given function there. The interval is that of Dvoretzky, Kiefer, Wolfowitz and Massart, for any size.
    """

    law: tuple[float, ...]
    outputs: tuple[str, ...]

    def measure(self, sample: Sample, alpha: float) -> Measured:
        """Return the distance with its interval at false-exclusion rate ``alpha``."""
        by_name = sample.outputs
        shares = np.array([by_name[name] for name in self.outputs])
        value = float(np.max(np.abs(shares - np.asarray(self.law))))
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
    """The mean of one output between 0 and 1, such as a share.

    The interval holds for every distribution and every number of blocks, so nothing need be known of variance
    or skewness: the estimand for blocks that are too dear to draw by the thousand.
    """

    output: str

    def measure(self, sample: Sample, alpha: float) -> Measured:
        """Return the mean with its interval at false-exclusion rate ``alpha``."""
        # Rounding may carry a mean of ones over 1.
        share = min(max(float(sample.outputs[self.output]), 0.0), 1.0)
        place = sample.names.index(self.output)
        variance = float(sample.covariance[place, place]) if sample.covariance.size else 0.0
        if not variance > 0:
            # Blocks that all agree do not make the mean certain: half a block more on either side.
            smoothed = (sample.blocks * share + 0.5) / (sample.blocks + 1)
            variance = smoothed * (1 - smoothed)
        interval = intervals.bounded_mean(share, alpha, sample.blocks)
        error = math.sqrt(variance / sample.blocks)
        return Measured(share, error, interval, sample.blocks, sample.coordinates)

    def blocks_needed(self, goal: Goal, pilot: Sample | None) -> int | None:  # noqa: ARG002  # needs none
        """Return the blocks that reach ``goal`` whatever the distribution: a mean near an end takes fewer."""
        # No numbers between the same ends vary more than 0 and 1 do.
        both = math.sqrt(math.log(2 / goal.alpha)) + intervals.normal_quantile(goal.miss) / math.sqrt(2)
        centre, width = goal.prediction, goal.width
        rates = [intervals.divergence(centre, end) for end in (centre - width, centre + width) if 0 < end < 1]
        return max(MIN_BLOCKS, math.ceil(both**2 / min(rates))) if rates else MIN_BLOCKS


Estimand = Smooth | DistanceToLaw | Bounded
"""A quantity that can be estimated from a sample of blocks."""
