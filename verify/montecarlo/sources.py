"""What a sample is made of: the independent numbers behind it, with their laws."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np

    from verify.montecarlo.distributions import Array, Distribution

QUERIES, KEYS = 0, 1
"""The places along which vectors are drawn: one for each query, or one for each key."""


@dataclass(frozen=True)
class VectorSource:
    """Vectors of shape (blocks, many, size), drawn one for each query or each key, which is its ``place``.

    Components are independent, also of those of other such sources, and follow ``law``; those of different
    vectors need not be where a statistic is a mean over what is made of each vector by itself. With a
    ``factor`` they are instead ``mean`` + factor·z, z being numbers of variance 1 with the shape of ``law``,
    which all such sources of one place share.
    """

    vectors: Array
    place: int
    law: Distribution
    factor: Array | None = None
    mean: Array | None = None

    def at(self, view: tuple[slice, slice]) -> VectorSource:
        """Return what is left of it in a view of the queries and the keys."""
        return replace(self, vectors=self.vectors[:, view[self.place]])


@runtime_checkable
class Traced(Protocol):
    """A sampler that tells what its samples are made of; it may have ``symbols``, their values by name."""

    def readings(self, rng: np.random.Generator, count: int) -> tuple[tuple[VectorSource, ...], ...]:
        """Return the sources behind a sample from the same stream: all of a block, then the parts of it."""
