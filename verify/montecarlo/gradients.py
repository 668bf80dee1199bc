"""Sampler of the gradients that reach queries and keys through the scores, without scaling and with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from verify.montecarlo.attention import gradients, probabilities
from verify.montecarlo.components import NORMAL

if TYPE_CHECKING:
    from verify.montecarlo.components import Array


@dataclass(frozen=True)
class RowGradients:
    """Blocks are ``rows`` queries that attend to the same ``keys`` keys, at scale 1 and at 1/√d.

    Queries (times ``query_size``), keys, values and the gradients at the output are standard normal;
    values have ``value_d`` dimensions. A query's squared gradient norm is given in units of value_d/keys, a
    key's in units of rows·value_d/keys². Statistics: the queries' mean squared norm unscaled, scaled, and
    unscaled with every squared norm cut off at ``cut``; the same three for the keys; then the shares of
    queries whose norm is at or below the points of ``grid`` unscaled, and of ``scaled_grid`` scaled.
    """

    keys: int
    d: int
    rows: int
    value_d: int
    cut: float
    grid: tuple[float, ...] = ()
    scaled_grid: tuple[float, ...] = ()
    query_size: float = 1.0

    order = 3

    @property
    def coordinates(self) -> int:
        """Random components drawn for one block."""
        return (self.rows + self.keys) * (self.d + self.value_d)

    @property
    def scores(self) -> int:
        """Scores that one block holds."""
        return self.rows * self.keys

    @property
    def held(self) -> int:
        """Numbers that are in memory at once while one block is drawn and reduced."""
        return 2 * self.coordinates + 6 * self.scores

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return the statistics of ``count`` blocks, shape (count, 6 + points of both grids)."""
        queries, keys, values, upstream = (
            NORMAL.draw(rng, (count, *shape))
            for shape in (
                (self.rows, self.d),
                (self.keys, self.d),
                (self.keys, self.value_d),
                (self.rows, self.value_d),
            )
        )
        queries *= self.query_size
        norms = []
        for scale in (1.0, self.d**-0.5):
            weights = probabilities(queries, keys, scale)
            found = gradients(queries, keys, values, weights, upstream, scale)
            of_queries = np.einsum("bmd,bmd->bm", found.queries, found.queries)
            of_keys = np.einsum("bnd,bnd->bn", found.keys, found.keys)
            norms.append(
                (
                    of_queries * (self.keys / self.value_d),
                    of_keys * (self.keys**2 / (self.rows * self.value_d)),
                )
            )
        (raw, raw_keys), (scaled, scaled_keys) = norms
        means = [
            squares.mean(axis=1)
            for plain, divided in ((raw, scaled), (raw_keys, scaled_keys))
            for squares in (plain, divided, np.minimum(plain, self.cut))
        ]
        shares = [self._shares(raw, self.grid), self._shares(scaled, self.scaled_grid)]
        return np.concatenate([np.stack(means, axis=1), *shares], axis=1)

    @staticmethod
    def _shares(squares: Array, grid: tuple[float, ...]) -> Array:
        """Return the shares of norms at or below each point of ``grid``, shape (count, points)."""
        shares: Array = (np.sqrt(squares)[:, :, None] <= np.asarray(grid)).mean(axis=1)
        return shares
