"""Queries and keys that depend on each other, or on the tokens that both are projected from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from verify.montecarlo.distributions import NORMAL
from verify.montecarlo.inputs import Input, Shape, vectors
from verify.montecarlo.sources import KEYS, QUERIES, Source

if TYPE_CHECKING:
    from verify.montecarlo.blocks import Settings
    from verify.montecarlo.distributions import Array, Distribution

Matrix = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Linked(Input):
    """m queries, each with a key of its own that depends on it.

    Components come in groups: the r query and r key components of a group are mean + mixing·z for fresh
    independent numbers z of the distribution. ``mixing`` has 2r rows, queries first, and a column for each z;
    a vector has ``groups`` groups, so its dimension is r·groups.
    """

    groups: int
    m: int
    distribution: Distribution
    mixing: Matrix
    means: tuple[float, ...]

    @classmethod
    def separate(
        cls, groups: int, m: int, distribution: Distribution, own: Matrix, means: tuple[float, ...] = ()
    ) -> Linked:
        """Return queries and keys independent of each other, the r components of a group made by ``own``.

        ``means``, those of a query's group and then of a key's, are 0 if left out.
        """
        mixing = np.kron(np.eye(2), own)
        return cls(groups, m, distribution, tuple(map(tuple, mixing.tolist())), means or (0.0,) * len(mixing))

    @property
    def half(self) -> int:
        """How many components of a query a group has."""
        return len(self.mixing) // 2

    @property
    def shape(self) -> Shape:
        """Numbers of queries, of keys, and of their components, in one block."""
        return Shape(self.m, self.m, self.groups * self.half)

    @property
    def settings(self) -> Settings:
        """What is drawn, as a cell records it."""
        half = self.half
        queries, keys = self.mixing[:half], self.mixing[half:]
        cross = (
            ("key", "the query itself")
            if self._same
            else ("Cov(q, k)", _written(self._covariance(queries, keys)))
        )
        own = ((name, self._covariance(rows, rows)) for name, rows in (("Cov(q)", queries), ("Cov(k)", keys)))
        return (
            ("d_k", half * self.groups),
            ("components", self.distribution.name),
            cross,
            *((name, _written(matrix)) for name, matrix in own if not np.allclose(matrix, np.eye(half))),
            *((("means", _written(np.reshape(self.means, (2, half)))),) if any(self.means) else ()),
        )

    @property
    def coordinates(self) -> int:
        """Random components drawn for one block."""
        return self.m * self.groups * len(self.mixing[0])

    @property
    def held(self) -> int:
        """Numbers that are in memory at once while the queries and keys of one block are drawn."""
        return self.coordinates + self.m * self.groups * len(self.mixing)

    @property
    def _same(self) -> bool:
        """Whether each key is its query."""
        rows, means = self.mixing, self.means
        return rows[: self.half] == rows[self.half :] and means[: self.half] == means[self.half :]

    def _covariance(self, rows: Matrix, others: Matrix) -> Array:
        covariance: Array = np.asarray(rows) @ np.asarray(others).T * float(self.distribution.variance)
        return covariance

    def draw(
        self,
        rng: np.random.Generator,
        count: int,
        *,
        columns: bool,  # noqa: ARG002  # the product decides how vectors lie in memory
    ) -> tuple[Array, Array]:
        """Return the queries and the keys of ``count`` blocks, both of shape (count, m, d)."""
        return self._both(self._fresh(rng, count), count)

    def _fresh(self, rng: np.random.Generator, count: int) -> Array:
        """Return the fresh numbers of all groups, a row for each."""
        # One tall matrix, for a product of it takes a fraction of the time of many small ones.
        many = count * self.m * self.groups
        return self.distribution.draw(rng, (many, len(self.mixing[0])), single=True)

    def _both(self, fresh: Array, count: int) -> tuple[Array, Array]:
        shape = (count, self.m, self.groups * self.half)
        queries = self._mixed(fresh, slice(None, self.half)).reshape(shape)
        keys = queries if self._same else self._mixed(fresh, slice(self.half, None)).reshape(shape)
        return queries, keys

    def sources(
        self,
        rng: np.random.Generator,
        count: int,
        *,
        columns: bool,  # noqa: ARG002  # as for ``draw``
    ) -> tuple[Source, ...]:
        """Return the fresh numbers, or the components made of one of them alone, and then whole vectors."""
        fresh, shape = self._fresh(rng, count), (count, self.m, self.groups)
        mixing, law = np.asarray(self.mixing), self.distribution
        halves = mixing[: self.half], mixing[self.half :]
        apart = not (np.abs(halves[0]).sum(axis=0) @ np.abs(halves[1]).sum(axis=0))
        of_keys = KEYS if apart else QUERIES
        found = []
        for column, numbers in enumerate(fresh.T):
            alone = [row for row, own in enumerate(mixing) if np.flatnonzero(own).tolist() == [column]]
            loc, scale = (
                (Fraction(self.means[alone[0]]), Fraction(mixing[alone[0], column])) if alone else (0, 1)
            )
            place = of_keys if not halves[0][:, column].any() else QUERIES
            part = (float(loc) + float(scale) * numbers).reshape(shape)
            found.append(Source(part, place, law.moved(loc, scale)))
        for place, rows, means, whole in zip(
            (QUERIES, of_keys),
            halves,
            np.reshape(self.means, (2, self.half)),
            self._both(fresh, count),
            strict=True,
        ):
            mean = np.tile(means + rows.sum(axis=1) * float(law.mean), self.groups)
            factor = np.kron(np.eye(self.groups), rows) * float(law.variance) ** 0.5
            found.append(Source(whole, place, law, factor, mean))
        return tuple(found)

    def _mixed(self, fresh: Array, half: slice) -> Array:
        """Return that half of all groups' components, shape (groups of all vectors, r)."""
        mixed: Array = fresh @ np.asarray(self.mixing[half], fresh.dtype).T
        if any(self.means[half]):
            mixed += np.asarray(self.means[half], fresh.dtype)
        return mixed


@dataclass(frozen=True)
class ProjectedTokens(Input):
    """m normalised tokens, from which fresh matrices in every block make queries and keys.

    Tokens have ``width`` components and squared length ``width``, as after layer normalisation; entries of
    the projections to ``d`` dimensions are centred with variance ``variance``.
    """

    width: int
    d: int
    m: int
    distribution: Distribution
    variance: Fraction

    @property
    def shape(self) -> Shape:
        """Numbers of queries, of keys, and of their components, in one block."""
        return Shape(self.m, self.m, self.d)

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
        return (2 * self.d + self.m) * self.width

    @property
    def held(self) -> int:
        """Numbers that are in memory at once while the queries and keys of one block are drawn."""
        return self.coordinates + 2 * self.m * self.d

    def draw(self, rng: np.random.Generator, count: int, *, columns: bool) -> tuple[Array, Array]:
        """Return the queries and the keys of ``count`` blocks, both of shape (count, m, d)."""
        tokens = NORMAL.draw(rng, (count, self.m, self.width), single=True)
        tokens *= np.sqrt(self.width / np.einsum("bmw,bmw->bm", tokens, tokens))[..., None]
        deviation, shape = math.sqrt(self.variance), (count, self.width, self.d)
        queries, keys = (
            tokens @ (deviation * vectors(rng, self.distribution, shape, columns=columns)) for _ in range(2)
        )
        return queries, keys


def _written(matrix: Array) -> str:
    """Return a matrix as text, its rows apart by semicolons; a single number bare."""
    rows = [" ".join(f"{value:g}".replace("-", "−") for value in row) for row in matrix]
    return rows[0] if matrix.size == 1 else f"[{'; '.join(rows)}]"
