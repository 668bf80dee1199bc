"""Sampler of the gradients that reach queries, keys and values, without scaling and with it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from verify.montecarlo.attention import gradients, probabilities
from verify.montecarlo.distributions import NORMAL
from verify.montecarlo.own_axes import components, in_axes, normal_vectors
from verify.montecarlo.statistics.base import numbered, shares_within

if TYPE_CHECKING:
    from verify.montecarlo.blocks import Settings
    from verify.montecarlo.distributions import Array


@dataclass(frozen=True)
class RowGradients:
    """Blocks are ``rows`` queries that attend to the same ``keys`` keys, at scale 1 and at 1/√d.

    Queries (times ``query_size``), keys, values and the gradients at the output are standard normal;
    values have ``value_d`` dimensions. Queries and keys of more dimensions than they span are drawn in the
    axes that they span. A query's squared gradient norm is given in units of value_d/keys, that of a key or
    value in units of rows·value_d/keys². Statistics: for each of ``PATHS`` the mean squared norm unscaled and
    scaled; then the shares of queries whose norm is at or below the points of ``grid`` unscaled, and of
    ``scaled_grid`` scaled. Methods give their names.
    """

    keys: int
    d: int
    rows: int
    value_d: int
    grid: tuple[float, ...] = ()
    scaled_grid: tuple[float, ...] = ()
    query_size: float = 1.0

    PATHS: ClassVar[tuple[str, ...]] = ("queries", "keys", "values")
    order = 3

    @property
    def alone(self) -> int:
        """How many outputs, the last ones, estimands take alone: the shares, of which quantiles are found."""
        return len(self.grid) + len(self.scaled_grid)

    @property
    def settings(self) -> Settings:
        """What is drawn, as a cell records it."""
        if self.query_size == 1:
            drawn: Settings = (("query, key, value, upstream", NORMAL.name),)
        else:
            deviation = self.query_size * math.sqrt(self.d)
            query = f"{NORMAL.name}, of a size at which raw scores have deviation {deviation:.4g}"
            drawn = ("query", query), ("key, value, upstream", NORMAL.name)
        return (
            ("keys", self.keys),
            ("d_k", self.d),
            ("scale", r"1 and $1/\sqrt{d_k}$"),
            *drawn,
            ("value dimensions", self.value_d),
            ("block", f"{self.rows} queries, {self.keys} keys"),
            *in_axes(self.d, self.rows + self.keys),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """What the statistics are called."""
        means = (self.mean_square(path, scaled=one) for path in self.PATHS for one in (False, True))
        grids = ((self.grid, False), (self.scaled_grid, True))
        shares = (numbered(self.share(scaled=one), len(grid)) for grid, one in grids)
        return (*means, *chain.from_iterable(shares))

    @staticmethod
    def mean_square(path: str, *, scaled: bool) -> str:
        """Return the name of the mean squared gradient on a path."""
        return f"{path}-{_scale(scaled=scaled)}"

    @staticmethod
    def share(*, scaled: bool) -> str:
        """Return what the shares of norms at or below the grid's points are called, each with its number."""
        return f"share-{_scale(scaled=scaled)}"

    @property
    def coordinates(self) -> int:
        """Random components drawn for one block."""
        vectors = self.rows + self.keys
        return components(vectors, self.d) + vectors * self.value_d

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
        both = normal_vectors(rng, count, self.keys + self.rows, self.d)
        # In axes of their own the first vectors, here the keys, lie along as many axes.
        spanned = self.d if self.d <= self.keys + self.rows else self.keys
        keys, queries = both[:, : self.keys, :spanned], both[:, self.keys :]
        values, upstream = (
            NORMAL.draw(rng, (count, many, self.value_d), single=True) for many in (self.keys, self.rows)
        )
        if self.query_size != 1:
            queries *= self.query_size
        squares = self._squares(*(one[:, None] for one in (queries, keys, values, upstream)))
        means = [squares[path].mean(axis=2) for path in self.PATHS]
        lengths = np.moveaxis(np.sqrt(squares["queries"]), 1, 0)
        grids = (self.grid, self.scaled_grid)
        shares = [shares_within(one, grid) for one, grid in zip(lengths, grids, strict=True)]
        return np.concatenate([*means, *shares], axis=1)

    def _squares(self, queries: Array, keys: Array, values: Array, upstream: Array) -> dict[str, Array]:
        """Return the squared norms of all gradients by path, shape (count, 2, rows) or (count, 2, keys).

        The arrays have an axis for both scales, of length 1. What queries have besides the axes of the
        keys meets no key, but reaches the keys' gradients.
        """
        # The scores become numbers of double precision: a weight of nearly 1 is known by what it lacks.
        scale = np.array([1.0, self.d**-0.5])[:, None, None]
        weights = probabilities(queries[..., : keys.shape[-1]], keys, scale)
        found = gradients(queries, keys, values, weights, upstream, scale)
        of_keys = self.keys**2 / (self.rows * self.value_d)
        paths = (
            ("queries", found.queries, self.keys / self.value_d),
            ("keys", found.keys, of_keys),
            ("values", found.values, of_keys),
        )
        return {path: unit * np.einsum("bsmd,bsmd->bsm", one, one) for path, one, unit in paths}


def _scale(*, scaled: bool) -> str:
    return "scaled" if scaled else "unscaled"
