"""Sampler of what single queries' rows of attention send back to their keys and values."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from verify.montecarlo.attention import gradients, probabilities
from verify.montecarlo.distributions import NORMAL
from verify.montecarlo.statistics.base import double

if TYPE_CHECKING:
    from verify.montecarlo.blocks import Settings
    from verify.montecarlo.distributions import Array, Distribution


@dataclass(frozen=True)
class SingleQueries:
    """Blocks are ``rows`` queries that share keys and values, each with a gradient at its own output.

    Components of the values are of the distribution ``values``, all others are standard normal. Every query's
    gradients are taken by themselves. Statistics, means over the queries: the squared norms of what it sends
    to the values, and of the gradient at its output; then, for the keys whose probabilities p lie between
    each two successive ``edges``, the sum of p(1-p), and the sum of their gradients' norms in units of
    scale·|query|·max|dP|. ``spread`` and ``length`` give these last two's names.
    """

    d: int
    keys: int
    value_d: int
    rows: int
    scale: float = 1.0
    edges: tuple[float, ...] = ()
    values: Distribution = NORMAL

    order, alone = 3, 0

    @property
    def settings(self) -> Settings:
        """What is drawn, as a cell records it."""
        return (
            ("d_k", self.d),
            ("d_v", self.value_d),
            ("keys", self.keys),
            ("queries", self.rows),
            ("query, key", NORMAL.name),
            ("values", self.values.name),
            ("scale", self.scale),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """What the statistics are called."""
        of_classes = (name(*ends) for ends in pairwise(self.edges) for name in (self.spread, self.length))
        return ("to-values", "from-above", *of_classes)

    @staticmethod
    def spread(low: float, high: float) -> str:
        """Return the name of the sum of p(1-p) over the keys between two successive edges."""
        return f"spread-{low}-{high}"

    @staticmethod
    def length(low: float, high: float) -> str:
        """Return the name of the sum of the gradients' norms over the same keys."""
        return f"length-{low}-{high}"

    @property
    def coordinates(self) -> int:
        """Random components drawn for one block."""
        return (self.keys + self.rows) * (self.d + self.value_d)

    @property
    def scores(self) -> int:
        """Scores that one block holds."""
        return self.rows * self.keys

    @property
    def held(self) -> int:
        """Numbers that are in memory at once while one block is drawn and reduced."""
        return self.coordinates + self.scores * (self.d + self.value_d + 4)

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return the statistics of ``count`` blocks, shape (count, 2 + 2·(edges - 1))."""
        query, upstream = (
            NORMAL.draw(rng, (count, self.rows, 1, width), single=True) for width in (self.d, self.value_d)
        )
        keys = NORMAL.draw(rng, (count, 1, self.keys, self.d), single=True)
        values = self.values.draw(rng, (count, 1, self.keys, self.value_d), single=True)
        weights = probabilities(query[:, :, 0], keys[:, 0], self.scale)[:, :, None]
        found = gradients(query, keys, values, weights, upstream, self.scale)
        squares: Array = double(np.stack([_squares(found.values), _squares(upstream)], axis=1)).mean(axis=2)
        if not self.edges:
            return squares
        chances = weights[:, :, 0]
        largest = np.abs(found.probabilities).max(axis=(2, 3))
        unit = (self.scale * np.sqrt(_squares(query)) * largest)[:, :, None]
        lengths = np.sqrt(np.einsum("brnd,brnd->brn", found.keys, found.keys)) / unit
        sums = sums_within(chances, (chances * (1 - chances), lengths), self.edges)
        return np.concatenate([squares, sums / self.rows], axis=1)


def sums_within(values: Array, of_values: tuple[Array, ...], edges: tuple[float, ...]) -> Array:
    """Return each block's sums of what belongs to ``values`` above an edge and at most the next.

    All have shape (blocks, …); the result has shape (blocks, classes·kinds), all kinds of a class together.
    """
    blocks, classes = len(values), len(edges) + 1
    places = np.broadcast_to(classes * np.arange(blocks)[:, None], (blocks, values[0].size)).copy()
    for edge in edges:
        places += values.reshape(places.shape) > edge
    sums = [
        np.bincount(places.ravel(), one.ravel(), minlength=classes * blocks).reshape(blocks, classes)
        for one in of_values
    ]
    between: Array = np.stack(sums, axis=2, dtype=np.float64)[:, 1:-1].reshape(blocks, -1)
    return between


def _squares(matrices: Array) -> Array:
    """Return the squared norm of each query's matrix, shape (blocks, rows)."""
    squares: Array = np.einsum("brij,brij->br", matrices, matrices)
    return squares
