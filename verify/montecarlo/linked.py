"""Scores of queries and keys that depend on each other, on their tokens, or vary within rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from verify.montecarlo.components import Array, ComponentLaw

Matrix = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class LinkedPairs:
    """Blocks are ``pairs`` independent scores; statistics: mean S and mean S², times the scale's powers.

    Components come in groups: the r query and r key components of a group are mean + mixing·z for fresh
    independent numbers z of the law. ``mixing`` has 2r rows, queries first, and a column for each z;
    a score adds ``groups`` groups, so its dimension is r·groups.
    """

    groups: int
    pairs: int
    law: ComponentLaw
    mixing: Matrix
    means: tuple[float, ...]
    scale: float = 1.0

    order = 3

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
        fresh = self.law.draw(rng, (count * self.pairs, self.groups, len(self.mixing[0])))
        both = fresh @ np.asarray(self.mixing).T + np.asarray(self.means)
        half = len(self.mixing) // 2
        scores = self.scale * np.einsum("bgi,bgi->b", both[..., :half], both[..., half:])
        scores = scores.reshape(count, self.pairs)
        return np.stack([scores.mean(axis=1), (scores**2).mean(axis=1)], axis=1)


@dataclass(frozen=True)
class RowSpread:
    """Blocks are score matrices; statistic: the mean unbiased variance within a row.

    A row holds the scores of one query, over which its softmax is taken.
    """

    d: int
    queries: int
    keys: int
    query: ComponentLaw
    key: ComponentLaw

    order = 3

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
    law: ComponentLaw
    variance: float

    order = 3

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
            tokens @ (np.sqrt(self.variance) * self.law.draw(rng, (count, self.width, self.d)))
            for _ in range(2)
        )
        scores = queries @ keys.transpose(0, 2, 1)
        squares = np.einsum("bij,bij->b", scores, scores) - np.einsum("bii,bii->b", scores, scores)
        means: Array = squares / (self.scores * self.d)
        return means[:, None]
