"""Draws blocks in batches and chunks as power sums: every estimate is a function of their means.

A cell draws blocks and reduces each to a small vector of means. Blocks are drawn in batches, each
with its own stream, and batches in chunks (``Chunk``), the unit of work; of a chunk, power sums are stored.
Beside the sums over all blocks stand those over a fixed number of groups, whose scatter shows errors that
moments estimated from the same blocks cannot.

Sums are added inside a chunk, in the order of its batches, then in the order of the chunks. So they are the
same to the last bit whichever worker draws which chunk, when, and however often a sample is enlarged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from verify.executors.machine import one_blas_thread
from verify.montecarlo.cells import Cell
from verify.montecarlo.distributions import Array, double, stream

Outputs = dict[str, Any]
"""Values of a statistic's outputs by name, in the order in which the statistic gives them."""


GROUPS = 128
"""Groups that blocks are dealt to in turn; as many as the fewest blocks that are ever judged."""


@dataclass(frozen=True)
class Sample:
    """The summary of the blocks drawn: their number and their joint moments up to order three.

    ``mean`` has shape (k,), ``covariance`` (k, k), ``third`` (k, k, k); the last two
    are central and are empty for a cell of order 1. ``groups`` are the means of the blocks' groups, shape
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
        return dict(zip(self.names, values, strict=True))

    @property
    def outputs(self) -> Outputs:
        """The means of the outputs by their names."""
        return self.named(self.mean)


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
        """Return the sums over both sets of blocks, about the same shift."""
        names = ("count", "first", "second", "third", "groups")
        return Sums(self.shift, *(getattr(self, name) + getattr(other, name) for name in names))

    def to_bytes(self) -> bytes:
        """Return all numbers as bytes, for ``from_bytes``."""
        head = np.array([self.count, self.shift.size])
        arrays = (head, self.shift, self.first, self.second, self.third, self.groups)
        return np.concatenate([array.ravel() for array in arrays], dtype="<f8").tobytes()

    @classmethod
    def from_bytes(cls, content: bytes) -> Sums:
        """Return the sums that ``to_bytes`` gave, to the last bit.

        Raises:
            ValueError: these are not the bytes of any sums.
        """
        (count, outputs), numbers = np.split(np.frombuffer(content, dtype="<f8").astype(float), [2])
        k, order = int(outputs), 1 if numbers.size == 2 * outputs else 3
        shapes = [(k,), (k,), *_shapes(k, order)]
        parts = np.split(numbers, np.cumsum([math.prod(shape) for shape in shapes])[:-1])
        # Of too few numbers, or too many, the last part has another shape.
        shift, *others = (part.reshape(shape) for part, shape in zip(parts, shapes, strict=True))
        return cls(shift, int(count), *others)

    def sample(self, cell: Cell) -> Sample:
        """Return the moments of a cell's blocks summed so far."""
        n = self.count
        offset = self.first / n
        second, third = self.second, self.third
        if second.size:
            # From moments about the shift to moments about the mean, which lies ``offset`` from it.
            raw = second / n
            central = raw - np.outer(offset, offset)
            second = central * (n / (n - 1))
            # E(y - δ)³ = E y³ - 3δ·E y² + 2δ³ for y with mean δ; of three different outputs, in three orders.
            crossed = np.einsum("ij,k->ijk", raw, offset)
            third = (
                third / n
                - (crossed + crossed.transpose(0, 2, 1) + crossed.transpose(2, 0, 1))
                + 2 * np.einsum("i,j,k->ijk", offset, offset, offset)
            )
        groups = np.zeros((0, self.shift.size))
        if self.groups.size and n >= GROUPS:
            sizes = (n + GROUPS - 1 - np.arange(GROUPS)) // GROUPS
            groups = self.shift + self.groups / sizes[:, None]
        counted, mean = (n, n * cell.coordinates, n * cell.scores), self.shift + offset
        return Sample(*counted, mean, second, third, groups, cell.names)


def _shapes(k: int, order: int) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of second-order sums, third-order sums and groups of ``k`` outputs."""
    return ((k, k), (k,) * 3, (GROUPS, k)) if order == 3 else ((0, 0), (0, 0, 0), (0, 0))


def sums_of(values: Array, shift: Array, order: int, before: int) -> Sums:
    """Return the sums over ``values``, the blocks that follow on ``before`` others."""
    k = shift.size
    # A statistic of all blocks is a long row: there are many blocks and few statistics.
    moved = np.subtract(values.T, shift[:, None], order="C")
    first = moved.sum(axis=1)
    if order == 1:
        return Sums(shift, len(values), first, *map(np.zeros, _shapes(k, order)))
    products = (moved[:, None] * moved).reshape(-1, len(values))
    third = (moved @ products.T).reshape((k,) * 3)
    # Blocks are dealt to the groups in turn, going on from those before.
    start, rounds = before % GROUPS, -(-(before % GROUPS + len(values)) // GROUPS)
    # A group's blocks stand in one column of as many rounds as it takes; zeros where there are none.
    places = np.zeros((k, rounds * GROUPS))
    places[:, start : start + len(values)] = moved
    groups = np.ascontiguousarray(places.reshape(k, rounds, GROUPS).sum(axis=1).T)
    return Sums(shift, len(values), first, moved @ moved.T, third, groups)


@dataclass(frozen=True)
class Chunk:
    """Batches of one chunk of a cell, from ``first`` up to, but without, ``stop``.

    ``before`` are the sums of the chunk's batches before ``first``, None at its beginning; ``shift`` is the
    centre of the cell's sums, None where it is not known yet.
    """

    seed: int
    claim: str
    first: int
    stop: int
    before: Sums | None = None
    shift: Array | None = None


def draw_chunk(cell: Cell, chunk: Chunk) -> Sums:
    """Return the sums over the batches of ``chunk`` and those ``before`` them.

    Raises:
        ValueError: an output is not finite in some block.
    """
    shift, total = chunk.shift, chunk.before
    with one_blas_thread():
        # All sums of a cell are about the mean of its first batch; a chunk that lacks it draws it again.
        if shift is None and chunk.first:
            shift = _batch(cell, chunk, 0).mean(axis=0)
        for batch in range(chunk.first, chunk.stop):
            values = _batch(cell, chunk, batch)
            if shift is None:
                shift = values.mean(axis=0)
            sums = sums_of(values, shift, cell.order, batch * cell.batch_blocks)
            total = sums if total is None else total.plus(sums)
    assert total is not None  # noqa: S101  # a chunk holds a batch
    return total


def _batch(cell: Cell, chunk: Chunk, batch: int) -> Array:
    """Return the block vectors of one batch, whichever of the cell's it is, in double precision."""
    rng = stream(chunk.seed, chunk.claim, cell.id, batch)
    values: Array = double(cell.sample(rng, cell.batch_blocks))
    if not np.isfinite(values).all():
        outputs = zip(cell.names, values.T, strict=False)
        wrong = " and ".join(name for name, of_blocks in outputs if not np.isfinite(of_blocks).all())
        raise ValueError(f"claim {chunk.claim}, cell {cell.id}: {wrong} is not finite in some block")
    return values


@dataclass(frozen=True)
class Drawn:
    """The draws of a cell: the sums of its ``whole`` chunks in order, and of the ``part`` of the next."""

    batches: int = 0
    whole: Sums | None = None
    part: Sums | None = None

    def missing(self, claim: str, seed: int, batches: int, per_chunk: int) -> Iterator[Chunk]:
        """Yield the chunks that lead from here to ``batches``, in order."""
        first, known = self.batches, self.part or self.whole
        before, shift = self.part, None if known is None else known.shift
        while first < batches:
            # To the end of the chunk that ``first`` is in, or as far as is asked for.
            stop = min(batches, (first // per_chunk + 1) * per_chunk)
            yield Chunk(seed, claim, first, stop, before, shift)
            first, before = stop, None

    def then(self, chunk: Chunk, sums: Sums, per_chunk: int) -> Drawn:
        """Return this with the next chunk, whose sums include the part of it that was there."""
        # A part goes on being added to by batches, so it stays apart from the whole chunks.
        if chunk.stop % per_chunk:
            return replace(self, batches=chunk.stop, part=sums)
        return Drawn(chunk.stop, sums if self.whole is None else self.whole.plus(sums))

    @property
    def total(self) -> Sums:
        """The sums over all blocks drawn."""
        if self.whole is not None and self.part is not None:
            return self.whole.plus(self.part)
        either = self.whole or self.part
        assert either is not None  # noqa: S101  # samples are asked for after a draw
        return either


class Request(NamedTuple):
    """A cell and the fewest blocks to draw of it."""

    cell: Cell
    blocks: int
