"""Scores that are clipped."""

from dataclasses import dataclass

import numpy as np

from verify.montecarlo.attention import softmax
from verify.montecarlo.blocks import Settings
from verify.montecarlo.distributions import Array
from verify.montecarlo.inputs import Shape
from verify.montecarlo.reference_loops import fixed_normals, largest_difference
from verify.montecarlo.statistics import Statistic, scores_of


def clipped(queries: Array, keys: Array, level: float) -> Array:
    """Return the scores after queries and keys are multiplied by √min(1, level/largest), shape (…, m, n)."""
    largest = scores_of(queries, keys).max(axis=(-2, -1), keepdims=True)
    root = np.sqrt(np.minimum(1, level / np.maximum(largest, level)))
    return scores_of(root * queries, root * keys)


@dataclass(frozen=True)
class ClippedScores(Statistic):
    """In which share of inputs a score is below minus the level once the largest is brought to it.

    Inputs are each ``group`` of a block's queries with each ``group`` of its keys. Those that share some are
    hardly correlated: whatever these are, the others are as likely of the other sign.
    """

    level: float
    group: int
    names = ("below",)
    copies = 8

    def settings(self, shape: Shape) -> Settings:
        """Return the block, and what of it is an input."""
        return *super().settings(shape), ("input", f"{self.group} queries, {self.group} keys")

    def reduce(self, queries: Array, keys: Array) -> Array:
        """Return the share, shape (blocks, 1)."""
        queries, keys = (one.reshape(len(one), -1, self.group, one.shape[2]) for one in (queries, keys))
        least = clipped(queries[:, :, None], keys[:, None], self.level).min(axis=(3, 4))
        return (least < -self.level).mean(axis=(1, 2))[:, None]


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
