"""Score matrices entry by entry, and beside the values that never enter them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from verify.montecarlo.distributions import Array, Distribution


@dataclass(frozen=True)
class ScoreMatrixEntries:
    """Blocks are single score matrices; statistics: powers of two corners, and means over pairs of entries.

    They are the first and last entry, their squares and their product; the mean of all
    entries and of their squares; over pairs of entries in one row, the mean of their product and of their
    squares'; and the mean product of squares over pairs that share neither row nor column.
    """

    d: int
    side: int
    query: Distribution
    key: Distribution

    order = 3
    names = (
        "first",
        "first-square",
        "last",
        "last-square",
        "corners",
        "mean",
        "square",
        "row-product",
        "row-squares",
        "apart-squares",
    )

    @property
    def coordinates(self) -> int:
        """Random components drawn for one block."""
        return 2 * self.side * self.d

    @property
    def scores(self) -> int:
        """Scores that one block holds."""
        return self.side**2

    @property
    def held(self) -> int:
        """Numbers that are in memory at once while one block is drawn and reduced."""
        return self.coordinates + 3 * self.scores

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return the statistics of ``count`` matrices, shape (count, 10)."""
        m, shape = self.side, (count, self.side, self.d)
        scores = self.query.draw(rng, shape) @ self.key.draw(rng, shape).transpose(0, 2, 1)
        squares = scores**2
        whole, fourth = squares.sum(axis=(1, 2)), (squares**2).sum(axis=(1, 2))
        rows = (squares.sum(axis=2) ** 2).sum(axis=1)
        columns = (squares.sum(axis=1) ** 2).sum(axis=1)
        products = (scores.sum(axis=2) ** 2).sum(axis=1) - whole
        in_rows, apart = m * m * (m - 1), (m * (m - 1)) ** 2
        first, last = scores[:, 0, 0], scores[:, -1, -1]
        statistics = (
            first,
            first**2,
            last,
            last**2,
            first * last,
            scores.sum(axis=(1, 2)) / m**2,
            whole / m**2,
            products / in_rows,
            (rows - fourth) / in_rows,
            (whole**2 - rows - columns + fourth) / apart,
        )
        return np.stack(statistics, axis=1)


@dataclass(frozen=True)
class ScoresBesideValues:
    """Blocks are a score matrix and one value for each key; statistics: mean S, S², V², and S²·V².

    V² is the mean square of a value's components, and multiplied by the squared scores of its own key: their
    covariance tells whether values have a part in scores. Without a distribution of their own the values are
    the keys themselves, as in the wrong world where they do.
    """

    d: int
    d_v: int
    side: int
    distribution: Distribution
    values: Distribution | None = None

    order = 3
    names = ("mean", "square", "value-square", "product")

    @property
    def coordinates(self) -> int:
        """Random components drawn for one block."""
        return (2 * self.d + (self.d_v if self.values else 0)) * self.side

    @property
    def scores(self) -> int:
        """Scores that one block holds."""
        return self.side**2

    @property
    def held(self) -> int:
        """Numbers that are in memory at once while one block is drawn and reduced."""
        return self.coordinates + self.scores

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return (mean S, mean S², mean V², mean S²·V²), shape (count, 4)."""
        queries, keys = (self.distribution.draw(rng, (count, self.side, self.d)) for _ in range(2))
        values = self.values.draw(rng, (count, self.side, self.d_v)) if self.values else keys
        scores = queries @ keys.transpose(0, 2, 1)
        of_keys, sizes = (scores**2).mean(axis=1), (values**2).mean(axis=2)
        means = [one.mean(axis=1) for one in (of_keys, sizes, of_keys * sizes)]
        return np.stack([scores.mean(axis=(1, 2)), *means], axis=1)
