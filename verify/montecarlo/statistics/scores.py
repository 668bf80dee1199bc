"""Statistics of whole score matrices: moments, and how entries go together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from verify.montecarlo.statistics.base import Statistic, double, scale_setting, scores_of

if TYPE_CHECKING:
    from verify.montecarlo.blocks import Settings
    from verify.montecarlo.distributions import Array
    from verify.montecarlo.inputs import Shape


@dataclass(frozen=True)
class ScoreMoments(Statistic):
    """Mean S and mean S² of the scores c·QKᵀ, where c is ``scale``."""

    scale: float = 1.0

    names = ("mean", "square")
    columns = True

    def settings(self, shape: Shape) -> Settings:
        """Return what is made of blocks of that shape, as a cell records it."""
        return (*scale_setting(self.scale), *super().settings(shape))

    def held(self, shape: Shape) -> int:
        """Return the numbers that are in memory at once for one block, besides its queries and keys."""
        return 2 * min(shape.d**2, self.scores(shape))

    def reduce(self, queries: Array, keys: Array) -> Array:
        """Return (mean S, mean S²), shape (blocks, 2)."""
        m, d, n = *queries.shape[1:], keys.shape[1]
        if d < min(m, n):
            # The squared Frobenius norm of QKᵀ is tr(QᵀQ·KᵀK), and the d×d matrices are smaller.
            grams = (double(one.swapaxes(1, 2) @ one) for one in (queries, keys))
            squares = np.einsum("bij,bij->b", *grams)
            totals = (double(np.einsum("bmd->bd", one)) for one in (queries, keys))
            total = np.einsum("bd,bd->b", *totals)
        else:
            scores = double(scores_of(queries, keys))
            squares = np.einsum("bij,bij->b", scores, scores)
            total = np.einsum("bij->b", scores)
        moments: Array = np.stack([self.scale * total, self.scale**2 * squares], axis=1) / (m * n)
        return moments


_POWERS = {1: "size", 2: "square", 4: "fourth"}


@dataclass(frozen=True)
class ScorePowers(Statistic):
    """The mean of |S|^p for each of ``powers``, called size, square and fourth."""

    powers: tuple[Literal[1, 2, 4], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """What each number of a block vector is."""
        return tuple(_POWERS[power] for power in self.powers)

    def reduce(self, queries: Array, keys: Array) -> Array:
        """Return the mean powers, shape (blocks, powers)."""
        scores = double(scores_of(queries, keys))
        squares = scores * scores
        powers = {1: np.abs(scores), 2: squares, 4: squares * squares}
        return np.stack([powers[power].mean(axis=(1, 2)) for power in self.powers], axis=1)


@dataclass(frozen=True)
class EntryProducts(Statistic):
    """Powers of two corners of a square score matrix, and means over pairs of its entries.

    They are the first and last entry, their squares and their product; the mean of all entries and of their
    squares; over pairs of entries in one row, the mean of their product and of their squares'; and the mean
    product of squares over pairs that share neither row nor column.
    """

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
    def views(self) -> tuple[tuple[slice, slice], ...]:
        """All queries with all keys, the first with the first, and the last with the last."""
        first, last = slice(1), slice(-1, None)
        return *super().views, (first, first), (last, last)

    def reduce(self, queries: Array, keys: Array) -> Array:
        """Return the statistics, shape (blocks, 10)."""
        m, scores = queries.shape[1], double(scores_of(queries, keys))
        squares = scores * scores
        whole, fourth = (np.einsum("bij,bij->b", one, one) for one in (scores, squares))
        of_rows, of_columns = np.einsum("bij->bi", squares), np.einsum("bij->bj", squares)
        totals = np.einsum("bij->bi", scores)
        rows, columns, products = (np.einsum("bi,bi->b", one, one) for one in (of_rows, of_columns, totals))
        in_rows, apart = m * m * (m - 1), (m * (m - 1)) ** 2
        first, last = scores[:, 0, 0], scores[:, -1, -1]
        statistics = (
            first,
            first**2,
            last,
            last**2,
            first * last,
            totals.sum(axis=1) / m**2,
            whole / m**2,
            (products - whole) / in_rows,
            (rows - fourth) / in_rows,
            (whole**2 - rows - columns + fourth) / apart,
        )
        return np.stack(statistics, axis=1)


@dataclass(frozen=True)
class OtherTokens(Statistic):
    """The mean of (q·k)²/d over queries and keys of different tokens, of as many queries as keys."""

    names = ("square",)
    copies = 2

    def settings(self, shape: Shape) -> Settings:  # noqa: ARG002  # the input says it all
        """Return nothing more than the input says."""
        return ()

    def scores(self, shape: Shape) -> int:
        """Return how many scores of a block enter."""
        return shape.m * (shape.m - 1)

    def reduce(self, queries: Array, keys: Array) -> Array:
        """Return the mean squared scaled score, shape (blocks, 1)."""
        m, d = queries.shape[1:]
        scores = double(scores_of(queries, keys))
        squares = np.einsum("bij,bij->b", scores, scores) - np.einsum("bii,bii->b", scores, scores)
        means: Array = squares / (m * (m - 1) * d)
        return means[:, None]
