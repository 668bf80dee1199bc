"""Chooses the shape of blocks: how many queries and keys a score matrix should have."""

import math
from collections.abc import Callable

import numpy as np

from verify.montecarlo.distributions import Array
from verify.montecarlo.estimands import MIN_BLOCKS

SIDES = (1, 2, 4, 8, 16, 24, 32, 48, 64, 80, 96, 128, 192, 256)

_MULTIPLY_ADD = 0.02
"""Time of one multiply-add of a matrix product, in units of drawing one component."""

_PER_BLOCK = 20.0
"""Time that a block costs whatever its size, in the same unit; it counts only for the smallest."""

_CACHE = 1 << 18
"""Components of a block above which its arrays leave the processor's cache, and all takes twice as long."""

_MOST_QUERIES = 64
"""Queries above which little is gained, and few blocks are already more than enough."""

_MANY = 8
"""Times as many queries as keys: more of them would hardly save a key that is drawn."""

_PER_SCORE = 0.8
"""Time that one score takes until its row's softmax is reduced, in units of drawing one component."""

_DEVIATIONS = 6.0
"""Standard errors that a typical check's tolerance spans at its first look, of 7.2 at the planned one."""


def block_cost(d: int, side: int) -> float:
    """Return the time of one side×side block of d-dimensional scores, in components drawn."""
    product = 2 * side * d * d if d < side else side * side * d
    work = 2 * side * d + _MULTIPLY_ADD * product + 0.2 * min(d, side) ** 2 + _PER_BLOCK
    return work if 2 * side * d <= _CACHE else 2 * work


def best_queries(keys: int, d: int) -> int:
    """Return how many queries should share their ``keys`` keys where each row counts by itself.

    m rows take m + keys vectors to draw, and m·keys scores. What they have in common is the keys, by whose
    lengths and angles they differ the less the more keys and dimensions there are: as measured for 2 to 512
    keys, the variance of their mean is about 1/m + 1/(d√keys) of that of one row. The product of variance and
    time, a + bm, is smallest at m = √(a·d√keys/b), and flat where queries outnumber keys.
    """
    once, per_row = keys * d, d + keys * (_PER_SCORE + _MULTIPLY_ADD * d)
    best = round(math.sqrt(once * d * math.sqrt(keys) / per_row))
    return min(_MOST_QUERIES, _MANY * keys, max(1, best))


def cheapest(needed: Array, costs: Array, least: Array, most: float) -> Array:
    """Return the blocks n of several cells that bring Σ ``needed``/n down to ``most`` for the least Σ cost·n.

    No cell gets fewer than ``least``. Without that bound n is in proportion to √(needed/cost) (J. Neyman);
    cells that would fall below it keep it, and the others take a little less.
    """
    free = needed > 0
    while True:
        left = most - float(np.sum(needed[~free] / least[~free]))
        blocks: Array = least.astype(np.float64)
        scale = float(np.sum(np.sqrt(needed[free] * costs[free]))) / left
        blocks[free] = scale * np.sqrt(needed[free] / costs[free])
        below = free & (blocks < least)
        if not below.any():
            return blocks
        free &= ~below


def best_side(d: int, relative_variance: Callable[[int], float], tolerance: float) -> int:
    """Return the side that reaches a relative half-width ``tolerance`` in the least time.

    ``relative_variance(side)`` is the variance of one block's estimate over its squared mean. The
    constants only steer the time; the choice depends on nothing measured on the machine.
    """

    def total(side: int) -> float:
        blocks = max(MIN_BLOCKS, relative_variance(side) * (_DEVIATIONS / tolerance) ** 2)
        return blocks * block_cost(d, side)

    return min(SIDES, key=total)
