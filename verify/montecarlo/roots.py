"""Where a function crosses 0, without the third of a second that loading ``scipy.optimize`` takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def crossing(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where ``function`` changes its sign between two ends, to the last bit, by halving.

    Raises:
        ValueError: it has the same sign at both.
    """
    rises = function(low) <= 0
    if rises == (function(high) < 0):
        raise ValueError(f"no change of sign between {low} and {high}")
    while low < (middle := (low + high) / 2) < high:
        if (function(middle) <= 0) == rises:
            low = middle
        else:
            high = middle
    return low
