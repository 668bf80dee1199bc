"""Sampler of rows of normal scores, without queries and keys."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from verify.montecarlo.sources import QUERIES, Source
from verify.montecarlo.statistics.rows import row_means

if TYPE_CHECKING:
    from verify.montecarlo.blocks import Settings
    from verify.montecarlo.distributions import Array, Distribution
    from verify.montecarlo.statistics.rows import OfRow


@dataclass(frozen=True)
class NormalRows:
    """Blocks are ``rows`` rows of independent normal scores of the given deviation; statistics: row means.

    What a row of normal keys looks like once the query's length is known.
    """

    keys: int
    rows: int
    deviation: float
    distribution: Distribution
    wanted: tuple[OfRow, ...]

    order, alone = 3, 0

    @property
    def settings(self) -> Settings:
        """What is drawn, as a cell records it."""
        return (
            ("n", self.keys),
            ("sigma", self.deviation),
            ("scores", f"independent {self.distribution.name}"),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """What each number of a block vector is."""
        return self.wanted

    @property
    def coordinates(self) -> int:
        """Random components drawn for one block."""
        return self.rows * self.keys

    @property
    def scores(self) -> int:
        """Scores that one block holds."""
        return self.rows * self.keys

    @property
    def held(self) -> int:
        """Numbers that are in memory at once while one block is drawn and reduced."""
        return 5 * self.scores

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return the row statistics' means of ``count`` blocks, shape (count, len(wanted))."""
        return row_means(self._rows(rng, count), self.wanted)

    def readings(self, rng: np.random.Generator, count: int) -> tuple[tuple[Source, ...], ...]:
        """Return the rows of scores."""
        law = self.distribution.moved(0, Fraction(self.deviation))
        return ((Source(self._rows(rng, count), QUERIES, law),),)

    def _rows(self, rng: np.random.Generator, count: int) -> Array:
        """Return the scores of ``count`` blocks, shape (count, rows, keys)."""
        # A key of all rows is one long row in memory: sums over few keys are then sums of long rows.
        scores = self.distribution.draw(rng, (self.keys, count, self.rows), single=True)
        scores *= self.deviation
        return np.moveaxis(scores, 0, -1)
