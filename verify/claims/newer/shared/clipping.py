"""QK-clip: queries and keys times the root of what brings the largest score to a level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from verify.montecarlo.attention import softmax
from verify.montecarlo.distributions import Array
from verify.montecarlo.reference_loops import fixed_normals, largest_difference
from verify.montecarlo.statistics import Statistic, scores_of


def clipped(queries: Array, keys: Array, level: float) -> Array:
    """Return the scores after queries and keys are multiplied by √min(1, level/largest), shape (…, m, n)."""
    largest = scores_of(queries, keys).max(axis=(-2, -1), keepdims=True)
    root = np.sqrt(np.minimum(1, level / np.maximum(largest, level)))
    return scores_of(root * queries, root * keys)


@dataclass(frozen=True)
class ClippedScores(Statistic):
    """Whether a score of the block is below minus the level once the largest is brought to it."""

    level: float
    names = ("below",)

    def reduce(self, queries: Array, keys: Array) -> Array:
        """Return 1 or 0, shape (blocks, 1)."""
        least = clipped(queries, keys, self.level).min(axis=(1, 2))
        return 1.0 * (least < -self.level)[:, None]


def largest_clipped(level: float) -> float:
    """Return the largest of fixed scores after clipping."""
    return float(clipped(fixed_normals(32, 16), fixed_normals(32, 16)[::-1] + 0.5, level).max())


def distance_from_temperature(level: float, power: float = 1.0) -> float:
    """Return how far weights of clipped scores are from those of scores times (level/largest)^power."""
    queries, keys = fixed_normals(32, 16), fixed_normals(32, 16)[::-1] + 0.5
    scores = scores_of(queries, keys)
    return largest_difference(
        softmax(clipped(queries, keys, level)), softmax((level / scores.max()) ** power * scores)
    )
