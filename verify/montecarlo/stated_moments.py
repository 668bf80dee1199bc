"""Holds the moments that a distribution states against numbers that it draws."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from verify.montecarlo import intervals
from verify.montecarlo.streams import stream

if TYPE_CHECKING:
    from verify.montecarlo.distributions import Distribution

FALSE_ALARM = 1e-9
"""How often a right moment may be called wrong, for a distribution that hides nothing in its far tails."""

_DRAWS = 1 << 19
_UNSEEN = math.log(1 / FALSE_ALARM)
"""So many more of the largest terms may have been missed: with 20 expected, none comes at this rate."""

_NAMES = ("", "mean", "variance", "third central moment", "fourth central moment")


@cache
def contradiction(distribution: Distribution) -> str | None:
    """Return what the distribution's draws say against its stated moments, in words, or None.

    The draws are always the same ones. A moment may miss by its sampling error at ``FALSE_ALARM``, and by
    what terms as large as the largest seen would add if all of them had stayed away: powers of heavy-tailed
    numbers have their means in a few rare ones. Moments that are not stated are not judged.
    """
    highest = min(len(distribution.base_moments), len(_NAMES)) - 1
    drawn = distribution.draw(stream(0, "stated-moments", distribution.name, 0), (_DRAWS,))
    if not np.all(np.isfinite(drawn)):
        return "draws numbers that are not finite"
    if highest < 1:
        return None
    deviations = drawn - float(distribution.mean)
    power = np.ones_like(deviations)
    for order in range(1, highest + 1):
        power = power * deviations
        stated = float(distribution.central_moments(order)[order])
        found, allowed = float(power.mean()), _allowed(power)
        # What is stated exactly may be drawn in single precision.
        if abs(found - stated) > allowed + 1e-6 * abs(stated):
            shift = float(distribution.mean) if order == 1 else 0.0
            return (
                f"states a {_NAMES[order]} of {stated + shift:.6g}, but what it draws has "
                f"{found + shift:.6g} ± {allowed:.2g}"
            )
    return None


def _allowed(terms: np.typing.NDArray[np.float64]) -> float:
    error = float(terms.std()) / math.sqrt(terms.size)
    largest = float(np.abs(terms).max()) / terms.size
    return intervals.normal_quantile(FALSE_ALARM) * error + _UNSEEN * largest
