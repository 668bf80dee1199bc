"""The engine's one idea: everything measured is a function of the mean of i.i.d. block vectors.

A sampler draws blocks and reduces each to a small vector of statistics. Blocks are drawn in batches, each
with its own stream, and batches in chunks (``verify.montecarlo.chunks``); what is kept are power sums. Beside
the sums over all blocks stand those over a fixed number of groups, whose scatter shows what moments estimated
from the same blocks cannot.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from verify.montecarlo.distributions import Array

Settings = tuple[tuple[str, int | float | str], ...]
"""What a cell is, as names with values, in the order in which they are recorded."""


class Outputs(dict[str, Any]):
    """Values of a statistic's outputs by name, in the order in which the statistic gives them."""

    def __missing__(self, name: str) -> Any:
        """Refuse the name of no output.

        Raises:
            ValueError: always.
        """
        raise ValueError(f"no output is called {name!r}; the statistic gives {', '.join(self)}")

    @property
    def vector(self) -> Array:
        """All values, shape (outputs,)."""
        return np.array([*self.values()])


_BATCH_COORDINATES = 1 << 18
"""Coordinates drawn per batch: in single precision 1 MiB, which stays in the processor's cache."""

_CHUNK_BATCHES = 64
"""Batches of a chunk: of up to 7 ms each, so that a chunk takes less than half a second."""

_FEW_OUTPUTS = 64
"""A block that is reduced to more outputs than these takes longer, in proportion."""

_HEAD = struct.Struct("<QIIB")
"""Before the numbers of sums: blocks, outputs, how many of them are in third moments, order."""

GROUPS = 128
"""Groups that blocks are dealt to in turn; as many as the fewest blocks that are ever judged."""


class BlockSampler(Protocol):
    """Draws i.i.d. blocks."""

    @property
    def settings(self) -> Settings:
        """What is drawn, computed from what draws it, as a cell records it."""

    @property
    def coordinates(self) -> int:
        """Random components drawn for one block."""

    @property
    def scores(self) -> int:
        """Scores that one block holds."""

    @property
    def held(self) -> int:
        """Numbers that are in memory at once while one block is drawn and reduced."""

    @property
    def names(self) -> tuple[str, ...]:
        """What each number of a block vector is, by which estimands refer to it."""

    @property
    def order(self) -> int:
        """Highest order of the joint moments that the sampler's estimates need: 1, or 3."""

    @property
    def alone(self) -> int:
        """How many outputs, the last ones, every estimand takes alone: they are in no third moment."""

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return the statistics of ``count`` independent blocks, shape (count, statistics)."""


@dataclass(frozen=True)
class Cell:
    """One setting in which blocks are drawn; ``id`` is permanent, for it seeds the cell's streams.

    ``batch_coordinates`` are those drawn from one stream, at most, where a block has no more.
    """

    id: str
    settings: Settings
    sampler: BlockSampler
    batch_coordinates: int = _BATCH_COORDINATES

    @property
    def batch_blocks(self) -> int:
        """Blocks drawn from one stream."""
        return max(1, self.batch_coordinates // self.sampler.coordinates)

    @property
    def chunk_batches(self) -> int:
        """Batches of one chunk."""
        return max(1, _CHUNK_BATCHES // -(-len(self.sampler.names) // _FEW_OUTPUTS))

    @property
    def batch_bytes(self) -> int:
        """Bytes in memory while a batch is drawn: what the sampler holds, and as much in the making."""
        return 2 * 8 * self.batch_blocks * self.sampler.held


@dataclass(frozen=True)
class Sample:
    """What is kept of the blocks drawn: their number and their joint moments up to order three.

    ``mean`` has shape (k,), ``covariance`` (k, k), ``third`` (j, j, j), of the first j outputs; the last two
    are central and are empty for a sampler of order 1. ``groups`` are the means of the blocks' groups, shape
    (GROUPS, k), which differ in size by one block at most; empty where not every group has a block, and for
    order 1. ``names`` are those of the k outputs.
    """

    blocks: int
    coordinates: int
    scores: int
    mean: Array
    covariance: Array
    third: Array
    groups: Array = field(default_factory=lambda: np.zeros((0, 0)))
    names: tuple[str, ...] = ()

    def named(self, values: Array) -> Outputs:
        """Return ``values``, one for each output along the first axis, by the outputs' names."""
        return Outputs(zip(self.names, values, strict=True))

    @property
    def outputs(self) -> Outputs:
        """The means of the outputs by their names."""
        return self.named(self.mean)

    def place(self, name: str) -> int:
        """Return the position of the output of that name.

        Raises:
            ValueError: no output is called so.
        """
        places: int = Outputs(zip(self.names, range(len(self.names)), strict=True))[name]
        return places


@dataclass(frozen=True)
class Sums:
    """Power sums of block vectors about a fixed ``shift``, near the mean so that nothing cancels.

    ``groups`` are the first-order sums of each group alone, shape (GROUPS, k).
    """

    shift: Array
    count: int
    first: Array
    second: Array
    third: Array
    groups: Array

    def plus(self, other: Sums) -> Sums:
        """Return the sums over both sets of blocks.

        Raises:
            ValueError: they are sums about different shifts.
        """
        if not np.array_equal(self.shift, other.shift, equal_nan=True):
            raise ValueError("sums about different shifts cannot be added")
        return Sums(
            self.shift,
            self.count + other.count,
            self.first + other.first,
            self.second + other.second,
            self.third + other.third,
            self.groups + other.groups,
        )

    def same_as(self, other: Sums) -> bool:
        """Return whether all numbers are the same to the last bit."""
        return self is other or self.to_bytes() == other.to_bytes()

    def to_bytes(self) -> bytes:
        """Return all numbers as bytes, for ``from_bytes``."""
        arrays = (self.shift, self.first, self.second, self.third, self.groups)
        numbers = b"".join(np.ascontiguousarray(one, dtype="<f8").tobytes() for one in arrays)
        order = 3 if self.second.size else 1
        return _HEAD.pack(self.count, self.shift.size, len(self.third), order) + numbers

    @classmethod
    def from_bytes(cls, content: bytes) -> Sums:
        """Return the sums that ``to_bytes`` gave, to the last bit.

        Raises:
            ValueError: these are not the bytes of any sums.
        """
        if len(content) < _HEAD.size:
            raise ValueError("too short for sums")
        count, outputs, together, order = _HEAD.unpack_from(content)
        numbers = np.frombuffer(content, dtype="<f8", offset=_HEAD.size).astype(float)
        shapes = [(outputs,), (outputs,), *_shapes(outputs, together, order)]
        sizes = [math.prod(shape) for shape in shapes]
        if order not in {1, 3} or sum(sizes) != numbers.size:
            raise ValueError("of another size than sums")
        parts = np.split(numbers, np.cumsum(sizes)[:-1])
        shift, *others = (part.reshape(shape) for part, shape in zip(parts, shapes, strict=True))
        return cls(shift, count, *others)

    def sample(self, cell: Cell) -> Sample:
        """Return the moments of a cell's blocks summed so far."""
        sampler = cell.sampler
        return self.moments(sampler.coordinates, sampler.scores, sampler.names)

    def moments(self, coordinates: int, scores: int, names: tuple[str, ...]) -> Sample:
        """Return the moments of the blocks summed so far, of so many coordinates and scores each."""
        n = self.count
        offset = self.first / n
        second, third = self.second, self.third
        if second.size:
            raw = second / n
            central = raw - np.outer(offset, offset)
            second = central * (n / (n - 1))
            together = len(third)
            raw, offset = raw[:together, :together], offset[:together]
            crossed = np.einsum("ij,k->ijk", raw, offset)
            third = (
                third / n
                - (crossed + crossed.transpose(0, 2, 1) + crossed.transpose(2, 0, 1))
                + 2 * np.einsum("i,j,k->ijk", offset, offset, offset)
            )
        mean, groups = self.shift + self.first / n, self._group_means()
        return Sample(n, n * coordinates, n * scores, mean, second, third, groups, names)

    def _group_means(self) -> Array:
        if not self.groups.size or self.count < GROUPS:
            return np.zeros((0, 0))
        sizes = (self.count + GROUPS - 1 - np.arange(GROUPS)) // GROUPS
        means: Array = self.shift + self.groups / sizes[:, None]
        return means


def sample_of(values: Array, names: tuple[str, ...]) -> Sample:
    """Return the moments of block vectors at hand, shape (blocks, names); two blocks at least."""
    sums = sums_of(values, values.mean(axis=0), 3, before=0)
    return sums.moments(0, 0, names)


def _shapes(k: int, together: int, order: int) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of second-order sums, third-order sums and groups of ``k`` outputs."""
    return ((k, k), (together,) * 3, (GROUPS, k)) if order == 3 else ((0, 0), (0, 0, 0), (0, 0))


def sums_of(values: Array, shift: Array, order: int, before: int, alone: int = 0) -> Sums:
    """Return the sums over ``values``, the blocks that follow on ``before`` others.

    The last outputs, so many as are taken ``alone``, are in no sum of third order.
    """
    k = shift.size
    # A statistic of all blocks is one long row: there are many blocks and few statistics.
    moved = np.subtract(values.T, shift[:, None], order="C")
    first = moved.sum(axis=1)
    if order == 1:
        return Sums(shift, len(values), first, *map(np.zeros, _shapes(k, 0, order)))
    together = moved[: k - alone]
    products = (together[:, None] * together).reshape(-1, len(values))
    third = (together @ products.T).reshape((len(together),) * 3)
    groups = _dealt(moved, before % GROUPS)
    return Sums(shift, len(values), first, moved @ moved.T, third, groups)


def _dealt(rows: Array, first: int) -> Array:
    """Return the sums of each row's numbers dealt to the groups in turn, shape (GROUPS, rows).

    The first of them goes to group ``first``.
    """
    many, numbers = rows.shape
    rounds = -(-(first + numbers) // GROUPS)
    places = np.zeros((many, rounds * GROUPS))
    places[:, first : first + numbers] = rows
    return np.ascontiguousarray(places.reshape(many, rounds, GROUPS).sum(axis=1).T)
