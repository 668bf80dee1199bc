"""Where the queries and keys of blocks come from: distributions of components, and how vectors share them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from verify.montecarlo.blocks import Settings
from verify.montecarlo.distributions import KEYS, NORMAL, QUERIES, Array, Distribution, VectorSource


class Shape(NamedTuple):
    """How many queries and keys a block has, ``m`` and ``n``, and how many components each of them, ``d``."""

    m: int
    n: int
    d: int


class Input(ABC):
    """Draws the queries and keys of i.i.d. blocks, in single precision, in which programs hold them too."""

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """Numbers of queries, of keys, and of their components, in one block."""

    @property
    @abstractmethod
    def settings(self) -> Settings:
        """What is drawn, as a cell records it."""

    @property
    @abstractmethod
    def coordinates(self) -> int:
        """Random components drawn for one block."""

    @property
    def held(self) -> int:
        """Numbers that are in memory at once while the queries and keys of one block are drawn."""
        return self.coordinates

    @abstractmethod
    def draw(self, rng: np.random.Generator, count: int, *, columns: bool) -> tuple[Array, Array]:
        """Return the queries of ``count`` blocks, shape (count, m, d), and their keys, shape (count, n, d).

        With ``columns`` the vectors lie in memory as columns, if the input can choose: a component of all
        vectors is one long row, which makes products over few components fast.
        """

    def sources(
        self,
        rng: np.random.Generator,  # noqa: ARG002
        count: int,  # noqa: ARG002
        *,
        columns: bool,  # noqa: ARG002
    ) -> tuple[VectorSource, ...]:
        """Return what queries and keys from the same stream are made of; empty by default."""
        return ()


@dataclass(frozen=True)
class Simulated(Input):
    """m queries and n keys of d independent components each.

    ``correlation`` ρ makes the components of one vector equicorrelated: √(1-ρ)·x + √ρ·x₀.
    """

    query: Distribution
    key: Distribution
    m: int
    n: int
    d: int
    correlation: float = 0.0

    @property
    def shape(self) -> Shape:
        return Shape(self.m, self.n, self.d)

    @property
    def settings(self) -> Settings:
        return (
            ("d_k", self.d),
            ("query", self.query.name),
            ("key", self.key.name),
            *((("correlation", self.correlation),) if self.correlation else ()),
        )

    @property
    def coordinates(self) -> int:
        return (self.m + self.n) * (self.d + bool(self.correlation))

    def draw(self, rng: np.random.Generator, count: int, *, columns: bool) -> tuple[Array, Array]:
        """Return the queries, shape (count, m, d), and the keys, shape (count, n, d), of ``count`` blocks."""
        queries, keys = (
            self._mixed(*self._parts(rng, law, (count, many, self.d), columns=columns))
            for law, many in self.laws
        )
        return queries, keys

    def sources(self, rng: np.random.Generator, count: int, *, columns: bool) -> tuple[VectorSource, ...]:
        """Return the components, and with a correlation what all those of a vector share."""
        return tuple(
            VectorSource(part, place, law)
            for place, (law, many) in zip((QUERIES, KEYS), self.laws, strict=True)
            for part in self._parts(rng, law, (count, many, self.d), columns=columns)
        )

    @property
    def laws(self) -> tuple[tuple[Distribution, int], ...]:
        """The laws of queries and of keys, and how many of them a block has."""
        return (self.query, self.m), (self.key, self.n)

    def _parts(
        self, rng: np.random.Generator, distribution: Distribution, shape: tuple[int, ...], *, columns: bool
    ) -> tuple[Array, ...]:
        own = vectors(rng, distribution, shape, columns=columns)
        if not self.correlation:
            return (own,)
        return own, vectors(rng, distribution, (*shape[:2], 1), columns=columns)

    def _mixed(self, own: Array, shared: Array | None = None) -> Array:
        if shared is not None:
            own *= math.sqrt(1 - self.correlation)
            own += math.sqrt(self.correlation) * shared
        return own


@dataclass(frozen=True)
class SharedVectors(Input):
    """m vectors of d independent components, which are queries and keys at once."""

    distribution: Distribution
    m: int
    d: int

    @property
    def shape(self) -> Shape:
        return Shape(self.m, self.m, self.d)

    @property
    def settings(self) -> Settings:
        return ("d_k", self.d), ("vectors", self.m), ("components", self.distribution.name)

    @property
    def coordinates(self) -> int:
        return self.m * self.d

    def draw(self, rng: np.random.Generator, count: int, *, columns: bool) -> tuple[Array, Array]:
        """Return the vectors of ``count`` blocks twice, shape (count, m, d)."""
        both = vectors(rng, self.distribution, (count, self.m, self.d), columns=columns)
        return both, both

    def sources(self, rng: np.random.Generator, count: int, *, columns: bool) -> tuple[VectorSource, ...]:
        """Return the vectors."""
        return (VectorSource(self.draw(rng, count, columns=columns)[0], QUERIES, self.distribution),)


def vectors(
    rng: np.random.Generator, distribution: Distribution, shape: tuple[int, ...], *, columns: bool
) -> Array:
    """Return vectors of shape (count, many, d), which with ``columns`` lie in memory as columns.

    They are in single precision.
    """
    count, many, d = shape
    if columns:
        return distribution.draw(rng, (count, d, many), single=True).swapaxes(1, 2)
    return distribution.draw(rng, shape, single=True)


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
        return Shape(self.m, self.m, self.groups * self.half)

    @property
    def settings(self) -> Settings:
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
        return self.m * self.groups * len(self.mixing[0])

    @property
    def held(self) -> int:
        return self.coordinates + self.m * self.groups * len(self.mixing)

    @property
    def _same(self) -> bool:
        """Whether each key is its query."""
        rows, means = self.mixing, self.means
        return rows[: self.half] == rows[self.half :] and means[: self.half] == means[self.half :]

    def _covariance(self, rows: Matrix, others: Matrix) -> Array:
        return np.asarray(rows) @ np.asarray(others).T * float(self.distribution.variance)

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
    ) -> tuple[VectorSource, ...]:
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
            found.append(VectorSource(part, place, law.moved(loc, scale)))
        for place, rows, means, whole in zip(
            (QUERIES, of_keys),
            halves,
            np.reshape(self.means, (2, self.half)),
            self._both(fresh, count),
            strict=True,
        ):
            mean = np.tile(means + rows.sum(axis=1) * float(law.mean), self.groups)
            factor = np.kron(np.eye(self.groups), rows) * float(law.variance) ** 0.5
            found.append(VectorSource(whole, place, law, factor, mean))
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
        return Shape(self.m, self.m, self.d)

    @property
    def settings(self) -> Settings:
        return (
            ("d_k", self.d),
            ("token width", self.width),
            ("entries", self.distribution.name),
            ("entry variance", str(self.variance)),
        )

    @property
    def coordinates(self) -> int:
        return (2 * self.d + self.m) * self.width

    @property
    def held(self) -> int:
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


def bartlett_vectors(
    rng: np.random.Generator, count: int, many: int, d: int, axes: int | None = None
) -> Array:
    """Return sets of ``many`` standard normal vectors of ``d`` dimensions, shape (count, many, axes).

    With more dimensions than ``axes`` (default: ``many``) they are given by Bartlett's decomposition: in an
    orthonormal basis whose first vector lies along the first of them, the second in the plane of the first
    two, and so on. Components beyond these axes are left out; the first ``axes`` vectors have none, so all
    inner products with those are as in full. Of no more dimensions the shape is (count, many, d). They are in
    single precision.

    Source: M. S. Bartlett, On the theory of statistical regression, Proc. R. Soc. Edinb. 53 (1933), 260-283.
    """
    axes = many if axes is None else axes
    if d <= axes:
        return NORMAL.draw(rng, (count, many, d), single=True)
    own, below = np.arange(axes), NORMAL.draw(rng, (count, axes * (axes - 1) // 2), single=True)
    vectors: Array = np.zeros((count, many, axes), np.float32)
    # What a vector has besides the axes before its own is as long as a normal vector of the dimensions left.
    vectors[:, own, own] = np.sqrt(rng.chisquare(d - own, (count, axes)))
    for place in range(1, axes):
        first = place * (place - 1) // 2
        vectors[:, place, :place] = below[:, first : first + place]
    vectors[:, axes:] = NORMAL.draw(rng, (count, many - axes, axes), single=True)
    return vectors


def bartlett_components(many: int, d: int, axes: int | None = None) -> int:
    """Return how many random components ``bartlett_vectors`` draws for one set."""
    axes = many if axes is None else axes
    return many * d if d <= axes else axes * (axes + 1) // 2 + (many - axes) * axes


def bartlett_setting(d: int, axes: int, spanning: str = "the vectors") -> Settings:
    """Return what a cell records where vectors of ``d`` dimensions are drawn in the axes of some or all."""
    return (("drawn in", f"the {axes} axes that {spanning} span"),) if d > axes else ()
