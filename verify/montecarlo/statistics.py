"""What blocks of queries and keys are reduced to: moments of scores, and of products and pairs of them."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from verify.montecarlo.blocks import OUTLINE, SHARE, Settings, double, numbered
from verify.montecarlo.distributions import QUERIES, Array, VectorSource
from verify.montecarlo.inputs import Input, Shape

FINEST = 1e-4
"""The smallest tolerance of a run: what single precision does to an estimate stays far below it."""


_PIECE = 1 << 19
"""Numbers held while blocks are reduced, as many blocks at a time: they stay in the processor's cache."""


class Statistic(ABC):
    """Reduces the queries and keys of a batch of blocks to block vectors.

    Inputs draw queries and keys in single precision, and so are scores made. That moves a score, or a weight
    of a softmax, by less than a millionth, which no check resolves. Powers of scores are added up in double
    precision. What is nearly 0 because terms of size 1 cancel, as the entropy that rows of hardly varying
    scores lose, moves by about 1e-8 however small it is.

    ``order`` is the highest order of the joint moments of block vectors that its estimates need;
    ``columns`` says whether it is faster where vectors lie in memory as columns; ``copies`` is how many
    arrays of the size of QKᵀ are in memory at once; ``paired`` whether a query meets its own key alone.
    """

    order: ClassVar[Literal[1, 3]] = 3
    columns: ClassVar[bool] = False
    copies: ClassVar[int] = 3
    paired: ClassVar[bool] = False

    @property
    def views(self) -> tuple[tuple[slice, slice], ...]:
        """Which queries meet which keys: all do, unless outputs are those of a part of them."""
        return ((slice(None), slice(None)),)

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """What each number of a block vector is, by which estimands refer to it."""

    @abstractmethod
    def reduce(self, queries: Array, keys: Array) -> Array:
        """Return the block vectors, shape (blocks, names).

        ``queries`` have shape (blocks, m, d), ``keys`` (blocks, n, d).
        """

    def symbols(self, shape: Shape) -> dict[str, float | Array]:  # noqa: ARG002  # most add none
        """Return values of symbols that a derivation may use, besides those that settings say."""
        return {}

    def settings(self, shape: Shape) -> Settings:
        """Return what is made of blocks of that shape, as a cell records it."""
        return (("block", f"{shape.m}×{shape.n}"),)

    def scores(self, shape: Shape) -> int:
        """Return how many scores of a block enter."""
        return shape.m * shape.n

    def held(self, shape: Shape) -> int:
        """Return the numbers that are in memory at once for one block, besides its queries and keys."""
        return self.copies * shape.m * shape.n


def scale_setting(scale: float) -> Settings:
    """Return the setting of a factor on the scores; of 1 none."""
    return (("scale", scale),) if scale != 1 else ()


def scores_of(queries: Array, keys: Array) -> Array:
    """Return all scores QKᵀ in the precision of the queries and keys, shape (…, m, n)."""
    return queries @ keys.swapaxes(-1, -2)


def shares_within(values: Array, grid: tuple[float, ...]) -> Array:
    """Return the shares of ``values``, shape (blocks, many), at or below each point, (blocks, points).

    Counting by sorted position costs one search per value instead of one comparison per point.
    """
    points, (blocks, many) = np.asarray(grid), values.shape
    if len(grid) == 1:
        return (values <= points).mean(axis=1, keepdims=True)
    width = len(grid) + 1
    # A search that follows that of a smaller value is short.
    places = np.searchsorted(points, np.sort(values, axis=1)) + width * np.arange(blocks)[:, None]
    histogram = np.bincount(places.ravel(), minlength=width * blocks).reshape(blocks, width)
    return np.cumsum(histogram, axis=1)[:, :-1] / many


@dataclass(frozen=True)
class ScoreMoments(Statistic):
    """Mean S and mean S² of the scores c·QKᵀ, where c is ``scale``."""

    scale: float = 1.0

    names = ("mean", "square")
    columns = True

    def settings(self, shape: Shape) -> Settings:
        return (*scale_setting(self.scale), *super().settings(shape))

    def held(self, shape: Shape) -> int:
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
        return np.stack([self.scale * total, self.scale**2 * squares], axis=1) / (m * n)


_POWERS = {1: "size", 2: "square", 4: "fourth"}


@dataclass(frozen=True)
class ScorePowers(Statistic):
    """The mean of |S|^p for each of ``powers``, called size, square and fourth."""

    powers: tuple[Literal[1, 2, 4], ...]

    @property
    def names(self) -> tuple[str, ...]:
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
        return ()

    def scores(self, shape: Shape) -> int:
        return shape.m * (shape.m - 1)

    def reduce(self, queries: Array, keys: Array) -> Array:
        """Return the mean squared scaled score, shape (blocks, 1)."""
        m, d = queries.shape[1:]
        scores = double(scores_of(queries, keys))
        squares = np.einsum("bij,bij->b", scores, scores) - np.einsum("bii,bii->b", scores, scores)
        means: Array = squares / (m * (m - 1) * d)
        return means[:, None]


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
        return np.stack([squares, rows - squares, apart], axis=1) / np.asarray(pairs)


class OwnKeys(Statistic):
    """A statistic of every query with the key of its own number, of as many queries as keys."""

    paired = True

    def settings(self, shape: Shape) -> Settings:  # noqa: ARG002  # pairs are independent, however many
        return ()

    def scores(self, shape: Shape) -> int:
        return shape.m


@dataclass(frozen=True)
class PairShares(OwnKeys):
    """The share of scores at or below each point of ``grid``, of independent pairs.

    The shares at the points of ``outline`` are counted as well: no check compares them, figures draw them.
    """

    grid: tuple[float, ...]
    outline: tuple[float, ...] = ()

    order = 1

    @property
    def names(self) -> tuple[str, ...]:
        return numbered(SHARE, len(self.grid)) + numbered(OUTLINE, len(self.outline))

    def settings(self, shape: Shape) -> Settings:  # noqa: ARG002  # pairs are independent, however many
        """Return the point, or how many there are."""
        return (("points", len(self.grid)) if len(self.grid) > 1 else ("point", self.grid[0]),)

    def held(self, shape: Shape) -> int:
        return 2 * shape.m + 2 * (len(self.grid) + len(self.outline))

    def reduce(self, queries: Array, keys: Array) -> Array:
        """Return the shares at or below the grid's points, then the outline's, shape (blocks, points)."""
        scores = np.einsum("bpd,bpd->bp", queries, keys)
        shares = [shares_within(scores, points) for points in (self.grid, self.outline) if points]
        return np.concatenate(shares, axis=1)


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
        return ()

    def scores(self, shape: Shape) -> int:
        return shape.m * (shape.m - 1) // 2

    def held(self, shape: Shape) -> int:
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


@dataclass(frozen=True)
class Reduced:
    """Blocks are the queries and keys of an input; what is kept of them is a statistic."""

    input: Input
    statistic: Statistic
    univariate: ClassVar[int] = 0

    @property
    def settings(self) -> Settings:
        """What is drawn and what is made of it, as a cell records it."""
        return (*self.input.settings, *self.statistic.settings(self.input.shape))

    @property
    def names(self) -> tuple[str, ...]:
        """What each number of a block vector is."""
        return self.statistic.names

    @property
    def order(self) -> int:
        """Highest order of the joint moments that the statistic's estimates need."""
        return self.statistic.order

    @property
    def coordinates(self) -> int:
        """Random components drawn for one block."""
        return self.input.coordinates

    @property
    def scores(self) -> int:
        """Scores of one block that enter."""
        return self.statistic.scores(self.input.shape)

    @property
    def held(self) -> int:
        """Numbers that are in memory at once while one block is drawn and reduced."""
        return self.input.held + self.statistic.held(self.input.shape)

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return the block vectors of ``count`` independent blocks, shape (count, names)."""
        queries, keys = self.input.draw(rng, count, columns=self.statistic.columns)
        step = max(1, _PIECE // self.statistic.held(self.input.shape))
        pieces = [slice(first, first + step) for first in range(0, count, step)]
        return np.concatenate([self.statistic.reduce(queries[one], keys[one]) for one in pieces])

    def readings(self, rng: np.random.Generator, count: int) -> tuple[tuple[VectorSource, ...], ...]:
        """Return what the draws from the same stream are made of, in each view of the statistic."""
        drawn = self.sources(rng, count)
        if self.statistic.paired:
            drawn = tuple(replace(one, place=QUERIES) for one in drawn)
        return tuple(tuple(one.at(view) for one in drawn) for view in self.statistic.views)

    def sources(self, rng: np.random.Generator, count: int) -> tuple[VectorSource, ...]:
        """Return what the input's draws from the same stream are made of."""
        return self.input.sources(rng, count, columns=self.statistic.columns)
