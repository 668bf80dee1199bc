"""Where the queries and keys of blocks come from: distributions of components, and how vectors share them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from verify.montecarlo.sources import KEYS, QUERIES, Source

if TYPE_CHECKING:
    import numpy as np

    from verify.montecarlo.blocks import Settings
    from verify.montecarlo.distributions import Array, Distribution


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
    ) -> tuple[Source, ...]:
        """Return what queries and keys from the same stream are made of; nothing if nobody needs to know."""
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
        queries, keys = (
            self._mixed(*self._parts(rng, law, (count, many, self.d), columns=columns))
            for law, many in self._laws
        )
        return queries, keys

    def sources(self, rng: np.random.Generator, count: int, *, columns: bool) -> tuple[Source, ...]:
        """Return the components, and with a correlation what all those of a vector share."""
        return tuple(
            Source(part, place, law)
            for place, (law, many) in zip((QUERIES, KEYS), self._laws, strict=True)
            for part in self._parts(rng, law, (count, many, self.d), columns=columns)
        )

    @property
    def _laws(self) -> tuple[tuple[Distribution, int], ...]:
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

    def sources(self, rng: np.random.Generator, count: int, *, columns: bool) -> tuple[Source, ...]:
        """Return the vectors."""
        return (Source(self.draw(rng, count, columns=columns)[0], QUERIES, self.distribution),)


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
