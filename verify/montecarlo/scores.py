"""Samplers of attention scores: score matrices, independent pairs, and all pairs of shared vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from verify.montecarlo.distribution_free import SHARE, numbered

if TYPE_CHECKING:
    from verify.montecarlo.blocks import Settings
    from verify.montecarlo.distributions import Array, Distribution


@dataclass(frozen=True)
class ScoreMatrices:
    """Blocks are m×m score matrices c·QKᵀ of ``side`` queries and keys; statistics: mean S, mean S².

    ``correlation`` ρ makes the d components of one vector equicorrelated: √(1-ρ)·x + √ρ·x₀.
    """

    d: int
    side: int
    query: Distribution
    key: Distribution
    scale: float = 1.0
    correlation: float = 0.0

    order = 3
    names = ("mean", "square")

    @property
    def settings(self) -> Settings:
        """What is drawn, as a cell records it."""
        return (
            ("d_k", self.d),
            ("query", self.query.name),
            ("key", self.key.name),
            *((("scale", self.scale),) if self.scale != 1 else ()),
            *((("correlation", self.correlation),) if self.correlation else ()),
            ("block", f"{self.side}×{self.side}"),
        )

    @property
    def coordinates(self) -> int:
        """Random components drawn for one block."""
        shared = 2 * self.side if self.correlation else 0
        return 2 * self.side * self.d + shared

    @property
    def scores(self) -> int:
        """Scores that one block holds."""
        return self.side**2

    @property
    def held(self) -> int:
        """Numbers that are in memory at once while one block is drawn and reduced."""
        return self.coordinates + 2 * min(self.d, self.side) ** 2

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return (mean S, mean S²) of ``count`` score matrices, shape (count, 2)."""
        queries, keys = (self._vectors(rng, count, distribution) for distribution in (self.query, self.key))
        total = np.einsum("bd,bd->b", np.einsum("bdm->bd", queries), np.einsum("bdm->bd", keys))
        if self.d < self.side:
            # The squared Frobenius norm of QKᵀ is tr(QᵀQ·KᵀK), and the d×d matrices are smaller.
            squares = np.einsum("bij,bij->b", queries @ _transposed(queries), keys @ _transposed(keys))
        else:
            scores = _transposed(queries) @ keys
            squares = np.einsum("bij,bij->b", scores, scores)
        return np.stack([self.scale * total, self.scale**2 * squares], axis=1) / self.scores

    def _vectors(self, rng: np.random.Generator, count: int, distribution: Distribution) -> Array:
        """Return vectors as columns, shape (count, d, side): long rows make small products fast."""
        own = distribution.draw(rng, (count, self.d, self.side))
        if self.correlation:
            own *= math.sqrt(1 - self.correlation)
            own += math.sqrt(self.correlation) * distribution.draw(rng, (count, 1, self.side))
        return own


@dataclass(frozen=True)
class ScorePairs:
    """Blocks are ``pairs`` independent scores q·k; statistics: the fraction at or below each grid point."""

    d: int
    pairs: int
    query: Distribution
    key: Distribution
    grid: tuple[float, ...]

    order = 1

    @property
    def settings(self) -> Settings:
        """What is drawn, as a cell records it."""
        where = ("points", len(self.grid)) if len(self.grid) > 1 else ("point", self.grid[0])
        return ("d_k", self.d), ("query", self.query.name), ("key", self.key.name), where

    @property
    def names(self) -> tuple[str, ...]:
        """What the statistics are called."""
        return numbered(SHARE, len(self.grid))

    @property
    def coordinates(self) -> int:
        """Random components drawn for one block."""
        return 2 * self.pairs * self.d

    @property
    def scores(self) -> int:
        """Scores that one block holds."""
        return self.pairs

    @property
    def held(self) -> int:
        """Numbers that are in memory at once while one block is drawn and reduced."""
        return self.coordinates + 2 * self.pairs + 2 * len(self.grid)

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return the fractions at or below the grid's points, shape (count, len(grid))."""
        shape = (count, self.pairs, self.d)
        scores = np.einsum("bpd,bpd->bp", self.query.draw(rng, shape), self.key.draw(rng, shape))
        # Counting by sorted position costs one search per score instead of one comparison per point.
        places = np.searchsorted(np.asarray(self.grid), scores)
        width = len(self.grid) + 1
        flat = places + width * np.arange(count)[:, None]
        histogram = np.bincount(flat.ravel(), minlength=width * count).reshape(count, width)
        return np.cumsum(histogram, axis=1)[:, :-1] / self.pairs


@dataclass(frozen=True)
class SharedPairs:
    """Blocks are the scores of all pairs among ``vectors`` vectors that they share.

    Statistics: mean S² over the pairs, (mean S)², and mean S. The first minus the second is the plain
    variance over the pairs, the estimator whose bias is in question.
    """

    d: int
    vectors: int
    distribution: Distribution

    order = 3
    names = ("square", "squared-mean", "mean")

    @property
    def settings(self) -> Settings:
        """What is drawn, as a cell records it."""
        return ("d_k", self.d), ("vectors", self.vectors), ("components", self.distribution.name)

    @property
    def coordinates(self) -> int:
        """Random components drawn for one block."""
        return self.vectors * self.d

    @property
    def scores(self) -> int:
        """Scores that one block holds."""
        return self.vectors * (self.vectors - 1) // 2

    @property
    def held(self) -> int:
        """Numbers that are in memory at once while one block is drawn and reduced."""
        return self.coordinates + min(self.d, self.vectors) ** 2

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return (mean S², (mean S)², mean S) of ``count`` sets of vectors, shape (count, 3)."""
        x = self.distribution.draw(rng, (count, self.d, self.vectors))
        lengths = np.einsum("bdv,bdv->bv", x, x)
        total = np.einsum("bdv->bd", x)
        mean = (np.einsum("bd,bd->b", total, total) - lengths.sum(axis=1)) / (2 * self.scores)
        # XᵀX and XXᵀ have the same squared norm; it holds each pair twice, and each vector with itself.
        gram = x @ _transposed(x) if self.d < self.vectors else _transposed(x) @ x
        squares = np.einsum("bij,bij->b", gram, gram) - np.einsum("bv,bv->b", lengths, lengths)
        return np.stack([squares / (2 * self.scores), mean**2, mean], axis=1)


def _transposed(x: Array) -> Array:
    return x.transpose(0, 2, 1)
