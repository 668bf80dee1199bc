"""A statistic with a number of its own beside the scale, for tests of cells."""

from dataclasses import dataclass

import numpy as np

from verify.montecarlo.blocks import double
from verify.montecarlo.distributions import Array
from verify.montecarlo.statistics import Statistic, scores_of


@dataclass(frozen=True)
class BiasedRows(Statistic):
    """The mean variance within rows of scores less the slope times the distance of the key."""

    slope: float
    scale: float = 1.0
    names = ("row-variance",)

    def reduce(self, queries: Array, keys: Array) -> Array:
        """Return it, shape (blocks, 1)."""
        scores = double(scores_of(self.scale * queries, keys))
        biased = scores - self.slope * np.arange(scores.shape[-1], dtype=np.float64)
        return biased.var(axis=2).mean(axis=1, keepdims=True)
