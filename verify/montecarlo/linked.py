"""Scores of queries and keys that depend on each other, on their tokens, or vary within rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fractions import Fraction

    from verify.montecarlo.blocks import Settings
    from verify.montecarlo.distributions import Array, Distribution

Matrix = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class LinkedPairs:
    """Blocks are ``pairs`` independent scores; statistics: mean S and mean S², times the scale's powers.

    Components come in groups: the r query and r key components of a group are mean + mixing·z for fresh
    independent numbers z of the distribution. ``mixing`` has 2r rows, queries first, and a column for each z;
    a score adds ``groups`` groups, so its dimension is r·groups.
    """

    groups: int
    pairs: int
    distribution: Distribution
    mixing: Matrix
    means: tuple[float, ...]
    scale: float = 1.0

    order = 3
    names = ("mean", "square")

    @property
    def settings(self) -> Settings:
        """What is drawn, as a cell records it."""
        half = len(self.mixing) // 2
        queries, keys = self.mixing[:half], self.mixing[half:]
        same = queries == keys and self.means[:half] == self.means[half:]
        cross = (
            ("key", "the query itself") if same else ("Cov(q, k)", _written(self._covariance(queries, keys)))
        )
        own = ((name, self._covariance(rows, rows)) for name, rows in (("Cov(q)", queries), ("Cov(k)", keys)))
        return (
            ("d_k", half * self.groups),
            ("components", self.distribution.name),
            cross,
            *((name, _written(matrix)) for name, matrix in own if not np.allclose(matrix, np.eye(half))),
            *((("means", _written(np.reshape(self.means, (2, half)))),) if any(self.means) else ()),
            *((("scale", self.scale),) if self.scale != 1 else ()),
        )

    @property
    def coordinates(self) -> int:
        """Random components drawn for one block."""
        return self.pairs * self.groups * len(self.mixing[0])

    @property
    def scores(self) -> int:
        """Scores that one block holds."""
        return self.pairs

    @property
    def held(self) -> int:
        """Numbers that are in memory at once while one block is drawn and reduced."""
        return self.coordinates + self.pairs * self.groups * len(self.mixing)

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return (mean S, mean S²) of ``count`` blocks, shape (count, 2)."""
        queries, keys = self.components(rng, count)
        scores = self.scale * np.einsum("bgi,bgi->b", queries, keys)
        scores = scores.reshape(count, self.pairs)
        return np.stack([scores.mean(axis=1), (scores**2).mean(axis=1)], axis=1)

    def _covariance(self, rows: Matrix, others: Matrix) -> Array:
        covariance: Array = np.asarray(rows) @ np.asarray(others).T * float(self.distribution.variance)
        return covariance

    def components(self, rng: np.random.Generator, count: int) -> tuple[Array, Array]:
        """Return the queries and keys of ``count`` blocks, both of shape (count·pairs, groups, r)."""
        fresh = self.distribution.draw(rng, (count * self.pairs, self.groups, len(self.mixing[0])))
        both = fresh @ np.asarray(self.mixing).T + np.asarray(self.means)
        half = len(self.mixing) // 2
        return both[..., :half], both[..., half:]


@dataclass(frozen=True)
class LinkedComponents:
    """Blocks are the components of linked queries and keys; statistics: their means and their products'.

    First the means of the r query components of a group, then those of its r key components, then of all
    r² products.
    """

    pairs: LinkedPairs

    order = 3

    @property
    def settings(self) -> Settings:
        """What is drawn, as a cell records it."""
        return self.pairs.settings

    @property
    def coordinates(self) -> int:
        """Random components drawn for one block."""
        return self.pairs.coordinates

    @property
    def scores(self) -> int:
        """Scores that one block holds."""
        return self.pairs.scores

    @property
    def held(self) -> int:
        """Numbers that are in memory at once while one block is drawn and reduced."""
        return self.pairs.held

    @property
    def names(self) -> tuple[str, ...]:
        """What the statistics are called: q1 and so on, k1 and so on, then q1k1, q1k2 and so on."""
        queries, keys = ([f"{name}{place}" for place in range(1, self._half + 1)] for name in "qk")
        return (*queries, *keys, *(query + key for query in queries for key in keys))

    @property
    def _half(self) -> int:
        return len(self.pairs.mixing) // 2

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return the means of ``count`` blocks, shape (count, 2r + r²)."""
        shape = (count, -1, self._half)
        queries, keys = (one.reshape(shape) for one in self.pairs.components(rng, count))
        products = np.einsum("bni,bnj->bij", queries, keys) / queries.shape[1]
        return np.concatenate([queries.mean(axis=1), keys.mean(axis=1), products.reshape(count, -1)], axis=1)


@dataclass(frozen=True)
class RowSpread:
    """Blocks are score matrices; statistic: the mean unbiased variance within a row.

    A row holds the scores of one query, over which its softmax is taken.
    """

    d: int
    queries: int
    keys: int
    query: Distribution
    key: Distribution

    order = 3
    names = ("row-variance",)

    @property
    def settings(self) -> Settings:
        """What is drawn, as a cell records it."""
        block = f"{self.queries}×{self.keys}"
        return ("d_k", self.d), ("query", self.query.name), ("key", self.key.name), ("block", block)

    @property
    def coordinates(self) -> int:
        """Random components drawn for one block."""
        return (self.queries + self.keys) * self.d

    @property
    def scores(self) -> int:
        """Scores that one block holds."""
        return self.queries * self.keys

    @property
    def held(self) -> int:
        """Numbers that are in memory at once while one block is drawn and reduced."""
        return self.coordinates + 2 * self.scores

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return the mean row variance of ``count`` matrices, shape (count, 1)."""
        queries = self.query.draw(rng, (count, self.queries, self.d))
        keys = self.key.draw(rng, (count, self.keys, self.d))
        scores = queries @ keys.transpose(0, 2, 1)
        rows: Array = scores.var(axis=2, ddof=1).mean(axis=1)
        return rows[:, None]


@dataclass(frozen=True)
class ProjectedTokens:
    """Blocks are fresh projection matrices and the scores of ``tokens`` normalised tokens with each other.

    Tokens have ``width`` components and squared length ``width``, as after layer normalisation; entries of
    the projections to ``d`` dimensions are centred with variance ``variance``. Statistic: the mean of
    (q·k)²/d over pairs of different tokens.
    """

    width: int
    d: int
    tokens: int
    distribution: Distribution
    variance: Fraction

    order = 3
    names = ("square",)

    @property
    def settings(self) -> Settings:
        """What is drawn, as a cell records it."""
        return (
            ("d_k", self.d),
            ("token width", self.width),
            ("entries", self.distribution.name),
            ("entry variance", str(self.variance)),
        )

    @property
    def coordinates(self) -> int:
        """Random components drawn for one block."""
        return (2 * self.d + self.tokens) * self.width

    @property
    def scores(self) -> int:
        """Scores that one block holds."""
        return self.tokens * (self.tokens - 1)

    @property
    def held(self) -> int:
        """Numbers that are in memory at once while one block is drawn and reduced."""
        return self.coordinates + 2 * self.tokens * self.d + 2 * self.tokens**2

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return the mean squared scaled score of ``count`` blocks, shape (count, 1)."""
        tokens = rng.normal(size=(count, self.tokens, self.width))
        tokens *= np.sqrt(self.width / np.sum(tokens**2, axis=2, keepdims=True))
        queries, keys = (
            tokens @ (math.sqrt(self.variance) * self.distribution.draw(rng, (count, self.width, self.d)))
            for _ in range(2)
        )
        scores = queries @ keys.transpose(0, 2, 1)
        squares = np.einsum("bij,bij->b", scores, scores) - np.einsum("bii,bii->b", scores, scores)
        means: Array = squares / (self.scores * self.d)
        return means[:, None]


def _written(matrix: Array) -> str:
    """Return a matrix as text, its rows apart by semicolons; a single number bare."""
    rows = [" ".join(f"{value:g}".replace("-", "−") for value in row) for row in matrix]
    return rows[0] if matrix.size == 1 else f"[{'; '.join(rows)}]"
