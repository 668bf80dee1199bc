"""What a statistic is: a function of queries and keys that names what it gives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

if TYPE_CHECKING:
    from verify.montecarlo.blocks import Settings
    from verify.montecarlo.distributions import Array
    from verify.montecarlo.inputs import Shape

FINEST = 1e-4
"""The smallest tolerance of a run: what single precision does to an estimate stays far below it."""

SHARE = "share"
"""What the shares at the points of a grid are called, each with its number."""


def numbered(name: str, many: int) -> tuple[str, ...]:
    """Return the names of so many outputs of one kind, ``name``-0 and so on."""
    return tuple(f"{name}-{place}" for place in range(many))


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
    scores: Array = queries @ keys.swapaxes(-1, -2)
    return scores


def double(numbers: Array) -> Array:
    """Return ``numbers`` in double precision, in which they are added up."""
    return numbers.astype(np.float64, copy=False)


def shares_within(values: Array, grid: tuple[float, ...]) -> Array:
    """Return the shares of ``values``, shape (blocks, many), at or below each point, (blocks, points).

    Counting by sorted position costs one search per value instead of one comparison per point.
    """
    blocks, many = values.shape
    width = len(grid) + 1
    places = np.searchsorted(np.asarray(grid), values) + width * np.arange(blocks)[:, None]
    histogram = np.bincount(places.ravel(), minlength=width * blocks).reshape(blocks, width)
    shares: Array = np.cumsum(histogram, axis=1)[:, :-1] / many
    return shares
