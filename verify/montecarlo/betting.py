"""An interval for the mean of bounded numbers that holds for every law and every sample size.

A gambler who bets that the mean is not m multiplies a fortune of 1 by 1 + λ(x - m) with every number x. If m
is the mean that is a martingale, however λ follows from earlier numbers, and by Ville's inequality exceeds
1/alpha at any time with probability at most alpha. What makes nobody rich is the interval.

Source: I. Waudby-Smith and A. Ramdas, Estimating means of bounded random variables by betting, J. R. Stat.
Soc. B 86 (2024), 1-27, section 4.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from verify.montecarlo.distributions import Array
    from verify.montecarlo.intervals import Interval

_BOLDEST = 0.9
"""Share of the fortune that may be lost by one number at most."""

_FINER, _ROUNDS = 32, 6
"""The end of an interval is looked for among so many numbers, so many times, each time more closely."""


def betting_mean(values: Array, alpha: float) -> Interval:
    """Return the interval of the mean of independent numbers between 0 and 1, in the order given.

    It is widened to hold their own mean, which early numbers alone may have refuted.

    Raises:
        ValueError: there is no number, or one lies outside.
    """
    values = np.asarray(values, dtype=np.float64)
    if not values.size or not np.all((values >= 0) & (values <= 1)):
        raise ValueError("give numbers between 0 and 1, one at least")
    lower, upper = _lower(values, alpha / 2), 1 - _lower(1 - values, alpha / 2)
    mean = float(np.mean(values))
    return min(lower, mean), max(upper, mean)


def _lower(values: Array, alpha: float) -> float:
    """Return the largest m that a gambler on larger means refutes, 0 if there is none.

    The fortune at every time falls as m grows, so that all smaller m are refuted with it.
    """
    bets, wanted = _bets(values, alpha), math.log(1 / alpha)
    low, high = 0.0, 1.0
    for _ in range(_ROUNDS):
        ends = np.linspace(low, high, _FINER + 1)
        means = ends[1:, None]
        stakes = np.minimum(bets, _BOLDEST / means)
        fortunes = np.cumsum(np.log1p(stakes * (values - means)), axis=1)
        refuted = int(np.count_nonzero(fortunes.max(axis=1) >= wanted))
        low, high = ends[refuted], ends[min(refuted + 1, _FINER)]
    return float(low)


def _bets(values: Array, alpha: float) -> Array:
    """Return the bet on each number, from those before it: √(2·ln(1/alpha)/(n·variance))."""
    count = np.arange(1, len(values) + 1)
    means = (0.5 + np.cumsum(values)) / (count + 1)
    variances = (0.25 + np.cumsum((values - means) ** 2)) / (count + 1)
    earlier = np.concatenate([[0.25], variances[:-1]])
    bets: Array = np.sqrt(2 * math.log(1 / alpha) / (len(values) * earlier))
    return bets
