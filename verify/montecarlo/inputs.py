"""Where the queries and keys of blocks come from: drawn from distributions, or recorded."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verify.montecarlo.blocks import Settings
    from verify.montecarlo.distributions import Array, Distribution


class Shape(NamedTuple):
    """How many queries and keys a block has, ``m`` and ``n``, and how many components each of them, ``d``."""

    m: int
    n: int
    d: int


class Input(ABC):
    """Draws the queries and keys of i.i.d. blocks."""

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
        """Numbers of queries, of keys, and of their components, in one block."""
        return Shape(self.m, self.n, self.d)

    @property
    def settings(self) -> Settings:
        """What is drawn, as a cell records it."""
        return (
            ("d_k", self.d),
            ("query", self.query.name),
            ("key", self.key.name),
            *((("correlation", self.correlation),) if self.correlation else ()),
        )

    @property
    def coordinates(self) -> int:
        """Random components drawn for one block."""
        return (self.m + self.n) * (self.d + bool(self.correlation))

    def draw(self, rng: np.random.Generator, count: int, *, columns: bool) -> tuple[Array, Array]:
        """Return the queries, shape (count, m, d), and the keys, shape (count, n, d), of ``count`` blocks."""
        queries = self._vectors(rng, self.query, (count, self.m, self.d), columns=columns)
        return queries, self._vectors(rng, self.key, (count, self.n, self.d), columns=columns)

    def _vectors(
        self, rng: np.random.Generator, distribution: Distribution, shape: tuple[int, ...], *, columns: bool
    ) -> Array:
        own = vectors(rng, distribution, shape, columns=columns)
        if self.correlation:
            own *= math.sqrt(1 - self.correlation)
            shared = vectors(rng, distribution, (*shape[:2], 1), columns=columns)
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
        """Numbers of queries, of keys, and of their components, in one block."""
        return Shape(self.m, self.m, self.d)

    @property
    def settings(self) -> Settings:
        """What is drawn, as a cell records it."""
        return ("d_k", self.d), ("vectors", self.m), ("components", self.distribution.name)

    @property
    def coordinates(self) -> int:
        """Random components drawn for one block."""
        return self.m * self.d

    def draw(self, rng: np.random.Generator, count: int, *, columns: bool) -> tuple[Array, Array]:
        """Return the vectors of ``count`` blocks twice, shape (count, m, d)."""
        both = vectors(rng, self.distribution, (count, self.m, self.d), columns=columns)
        return both, both


def vectors(
    rng: np.random.Generator, distribution: Distribution, shape: tuple[int, ...], *, columns: bool
) -> Array:
    """Return vectors of shape (count, many, d), which with ``columns`` lie in memory as columns."""
    count, many, d = shape
    if columns:
        return distribution.draw(rng, (count, d, many)).swapaxes(1, 2)
    return distribution.draw(rng, shape)


@dataclass(frozen=True, eq=False)
class Recorded:
    """The queries and keys of one head in recorded sequences; every sequence is one block.

    Both arrays have shape (sequence, token, d), the same in all axes but that of the tokens.

    Raises:
        ValueError: an array has other axes, or they do not fit.
    """

    queries: NDArray[np.floating]
    keys: NDArray[np.floating]

    def __post_init__(self) -> None:
        for name, array in (("queries", self.queries), ("keys", self.keys)):
            if array.ndim != 3:
                axes = "give three axes: sequence, token, component"
                raise ValueError(f"recorded {name} have shape {array.shape}; {axes}")
        if self.queries.shape[0] != self.keys.shape[0] or self.queries.shape[2] != self.keys.shape[2]:
            both = f"{self.queries.shape} and {self.keys.shape}"
            raise ValueError(f"recorded queries and keys of shapes {both} differ in sequences or components")

    @property
    def blocks(self) -> int:
        """How many sequences there are."""
        return len(self.queries)

    @property
    def shape(self) -> Shape:
        """Numbers of queries, of keys, and of their components, in one block."""
        return Shape(self.queries.shape[1], self.keys.shape[1], self.queries.shape[2])

    @property
    def settings(self) -> Settings:
        """What was recorded, as a cell records it."""
        m, n, d = self.shape
        tokens = f"{m}" if m == n else f"{m} queries, {n} keys"
        return ("d_k", d), ("sequences", self.blocks), ("tokens", tokens)

    @property
    def coordinates(self) -> int:
        """Recorded components of one block."""
        m, n, d = self.shape
        return (m + n) * d

    def take(self, first: int, last: int) -> tuple[Array, Array]:
        """Return the queries and keys of the sequences from ``first`` up to, but without, ``last``."""
        queries, keys = (np.asarray(one[first:last], np.float64) for one in (self.queries, self.keys))
        return queries, keys
