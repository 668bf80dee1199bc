"""Products of two scores of a block, by what they share: the parts that the scores' variance has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from verify.montecarlo.statistics.base import Statistic, double, scores_of

if TYPE_CHECKING:
    from verify.montecarlo.distributions import Array


@dataclass(frozen=True)
class ScoreProducts(Statistic):
    """The mean of S², and the mean products of two scores of one query, and of two that share nothing.

    "same" less "query" is the mean variance within rows, "query" less "apart" the variance of the rows' own
    means; both without bias, for every two scores are of different keys.
    """

    names = ("same", "query", "apart")

    def reduce(self, queries: Array, keys: Array) -> Array:
        """Return the three means, shape (blocks, 3)."""
        scores = double(scores_of(queries, keys))
        m, n = scores.shape[1:]
        squares = np.einsum("bij,bij->b", scores, scores)
        of_rows, of_columns = scores.sum(axis=2), scores.sum(axis=1)
        rows, columns = (np.einsum("bi,bi->b", one, one) for one in (of_rows, of_columns))
        apart = of_rows.sum(axis=1) ** 2 - rows - columns + squares
        pairs = (m * n, m * n * (n - 1), m * n * (m - 1) * (n - 1))
        means: Array = np.stack([squares, rows - squares, apart], axis=1) / np.asarray(pairs)
        return means
