"""Statistics of pairs: each query with its own key, or all pairs among vectors that are both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from verify.montecarlo.statistics.base import SHARE, Statistic, double, numbered, scale_setting, shares_within

if TYPE_CHECKING:
    from verify.montecarlo.blocks import Settings
    from verify.montecarlo.distributions import Array
    from verify.montecarlo.inputs import Shape


class OwnKeys(Statistic):
    """A statistic of every query with the key of its own number, of as many queries as keys."""

    paired = True

    def settings(self, shape: Shape) -> Settings:  # noqa: ARG002  # pairs are independent, however many
        """Return nothing more than the input says."""
        return ()

    def scores(self, shape: Shape) -> int:
        """Return how many scores of a block enter."""
        return shape.m


@dataclass(frozen=True)
class PairShares(OwnKeys):
    """The share of scores at or below each point of ``grid``, of independent pairs."""

    grid: tuple[float, ...]

    order = 1

    @property
    def names(self) -> tuple[str, ...]:
        """What each number of a block vector is."""
        return numbered(SHARE, len(self.grid))

    def settings(self, shape: Shape) -> Settings:  # noqa: ARG002  # pairs are independent, however many
        """Return the point, or how many there are."""
        return (("points", len(self.grid)) if len(self.grid) > 1 else ("point", self.grid[0]),)

    def held(self, shape: Shape) -> int:
        """Return the numbers that are in memory at once for one block, besides its queries and keys."""
        return 2 * shape.m + 2 * len(self.grid)

    def reduce(self, queries: Array, keys: Array) -> Array:
        """Return the shares at or below the grid's points, shape (blocks, points)."""
        return shares_within(np.einsum("bpd,bpd->bp", queries, keys), self.grid)


@dataclass(frozen=True)
class PairMoments(OwnKeys):
    """Mean S and mean S² of the scores c·q·k of every query with its own key, where c is ``scale``."""

    scale: float = 1.0

    names = ("mean", "square")

    def settings(self, shape: Shape) -> Settings:  # noqa: ARG002  # pairs are independent, however many
        """Return the scale."""
        return scale_setting(self.scale)

    def reduce(self, queries: Array, keys: Array) -> Array:
        """Return (mean S, mean S²), shape (blocks, 2)."""
        scores = self.scale * double(np.einsum("bpd,bpd->bp", queries, keys))
        return np.stack([scores.mean(axis=1), (scores**2).mean(axis=1)], axis=1)


@dataclass(frozen=True)
class ComponentMoments(OwnKeys):
    """The means of components and of products, of vectors made of groups of ``size`` components.

    First the mean of each of a group's query components, q1 and so on, then of its key components, k1 and so
    on, then of all their products, q1k1, q1k2 and so on; over all groups and pairs.
    """

    size: int

    @property
    def names(self) -> tuple[str, ...]:
        """What each number of a block vector is."""
        queries, keys = ([f"{name}{place + 1}" for place in range(self.size)] for name in "qk")
        return (*queries, *keys, *(query + key for query in queries for key in keys))

    def reduce(self, queries: Array, keys: Array) -> Array:
        """Return the means, shape (blocks, 2·size + size²)."""
        blocks = len(queries)
        queries, keys = (double(one).reshape(blocks, -1, self.size) for one in (queries, keys))
        many = queries.shape[1]
        # Products of matrices are faster than sums over the few components of a group.
        evenly = np.full(many, 1 / many)
        products = (queries.swapaxes(1, 2) @ keys / many).reshape(blocks, -1)
        return np.concatenate([evenly @ queries, evenly @ keys, products], axis=1)


@dataclass(frozen=True)
class AllPairs(Statistic):
    """Mean S² over all pairs among vectors that are queries and keys at once, (mean S)², and mean S.

    The first minus the second is the plain variance over the pairs, the estimator whose bias is in question.
    """

    names = ("square", "squared-mean", "mean")
    columns = True

    def settings(self, shape: Shape) -> Settings:  # noqa: ARG002  # the input says it all
        """Return nothing more than the input says."""
        return ()

    def scores(self, shape: Shape) -> int:
        """Return how many scores of a block enter."""
        return shape.m * (shape.m - 1) // 2

    def held(self, shape: Shape) -> int:
        """Return the numbers that are in memory at once for one block, besides its queries and keys."""
        return min(shape.d, shape.m) ** 2

    def reduce(self, queries: Array, keys: Array) -> Array:  # noqa: ARG002  # they are the same
        """Return (mean S², (mean S)², mean S), shape (blocks, 3)."""
        vectors, d = queries.shape[1:]
        twice = vectors * (vectors - 1)
        x = queries.swapaxes(1, 2)
        lengths, total = double(np.einsum("bdv,bdv->bv", x, x)), double(np.einsum("bdv->bd", x))
        mean = (np.einsum("bd,bd->b", total, total) - lengths.sum(axis=1)) / twice
        # XᵀX and XXᵀ have the same squared norm; it holds each pair twice, and each vector with itself.
        gram = double(x @ x.swapaxes(1, 2) if d < vectors else x.swapaxes(1, 2) @ x)
        squares = np.einsum("bij,bij->b", gram, gram) - np.einsum("bv,bv->b", lengths, lengths)
        return np.stack([squares / twice, mean**2, mean], axis=1)
