"""Draws blocks in batches and chunks as power sums: every estimate is a function of their means.

A cell draws blocks and reduces each to a small vector of means. Blocks are drawn in batches, each
with its own stream, and batches in chunks (``Chunk``), the unit of work; of a chunk, power sums are stored.
Beside the sums over all blocks stand those over a fixed number of groups, whose means give an interval where
blocks are too skewed for the usual one.

Sums are added inside a chunk, in the order of its batches, then in the order of the chunks. So they are the
same to the last bit whichever worker draws which chunk, when, and however often a sample is enlarged.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from verify.errors import ClaimError
from verify.executors.workers import one_blas_thread
from verify.montecarlo.compiling import Compiler
from verify.montecarlo.distributions import Array, Distribution, double, stream
from verify.montecarlo.operations import Compiled
from verify.symbolic.vocabulary import Family, m, n

Settings = tuple[tuple[str, int | float | str], ...]
"""The settings of a cell, as names with values, in the order in which they are recorded."""

# Coordinates drawn per batch: in single precision 1 MiB, which stays in the processor's cache.
_BATCH_COORDINATES = 1 << 18

_CHUNK_BATCHES = 64  # batches of a chunk: of up to 7 ms each, so that a chunk takes less than half a second
_MOST_BYTES = 4 * 2**30  # of memory
_FEW_OUTPUTS = 64  # a block that is reduced to more outputs than these takes longer, in proportion

PIECE = 1 << 18
"""Numbers that are in memory while blocks are reduced, as many blocks at a time: they stay in the cache."""


@dataclass(frozen=True)
class Cell:
    """One setting in which blocks are drawn; ``id`` is permanent, for it seeds the cell's streams.

    ``outputs`` are expressions by name, of whose values each block has a mean; ``sizes`` are the lengths of
    the families' ranges in a block, ``values`` those of symbols. Of ``order`` 1, no higher moments of the
    means are taken. The expressions are compiled in each process that draws, once.
    """

    id: str
    settings: Settings = ()
    outputs: tuple[tuple[str, sp.Expr], ...] = ()
    laws: tuple[tuple[Family, Distribution], ...] = ()
    sizes: tuple[tuple[sp.Expr, int], ...] = ()
    values: tuple[tuple[sp.Symbol, float], ...] = ()
    order: int = 3

    def __getstate__(self) -> dict[str, Any]:
        # Operations are closures, which no pickle holds.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of a block vector's numbers, by which estimands refer to them."""
        return tuple(name for name, _ in self.outputs)

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of the draws of each family for one block."""
        sizes = dict(self.sizes)
        return {
            str(family.label): tuple(sizes[extent] for extent in family.ranges) for family, _ in self.laws
        }

    @property
    def coordinates(self) -> int:
        """Random components drawn for one block."""
        return sum(map(math.prod, self.shapes.values()))

    @property
    def scores(self) -> int:
        """Scores that one block holds: as many as queries times keys."""
        sizes = dict(self.sizes)
        return sizes.get(m, 1) * sizes.get(n, 1)

    @property
    def batch_blocks(self) -> int:
        """Blocks drawn from one stream."""
        return max(1, _BATCH_COORDINATES // self.coordinates)

    @property
    def chunk_batches(self) -> int:
        """Batches of one chunk."""
        return max(1, _CHUNK_BATCHES // -(-len(self.names) // _FEW_OUTPUTS))

    @property
    def too_large(self) -> str:
        """Whether its blocks take more memory than is asked for, in words; empty where they do not."""
        # While a batch is drawn and reduced: its arrays, and as much in the making.
        size = 2 * 8 * self.batch_blocks * (2 * self.coordinates + self.compiled.peak)
        return f"a block takes {size / 2**30:.0f} GB; make it smaller" if size > _MOST_BYTES else ""

    @cached_property
    def compiled(self) -> Compiled:
        """The operations that compute the outputs."""
        compiler = Compiler(dict(self.sizes), dict(self.values), dict(self.laws))
        return compiler.block_means(expression for _, expression in self.outputs)

    def draws(self, rng: np.random.Generator, count: int) -> dict[str, Array]:
        """Return the draws of each family for ``count`` blocks, with single precision's digits."""
        shapes = zip(self.shapes.items(), self.laws, strict=True)
        return {name: law.draw(rng, (count, *shape), single=True) for (name, shape), (_, law) in shapes}

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return the means of all outputs in ``count`` independent blocks, shape (count, outputs)."""
        draws, step = self.draws(rng, count), max(1, PIECE // self.compiled.peak)
        pieces = (
            {name: values[first : first + step] for name, values in draws.items()}
            for first in range(0, count, step)
        )
        means: Array = np.concatenate([self.compiled.run(piece, rng) for piece in pieces])
        if len(means) != count:
            raise ClaimError(f"cell {self.id}: a program's columns need a row for each block it is given")
        return means


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

    @property
    def outputs(self) -> dict[str, Any]:
        """The means of the outputs by their names, in their order."""
        return dict(zip(self.names, self.mean, strict=True))


@dataclass(frozen=True)
class Sums:
    """Power sums of block vectors about a fixed ``shift``, near the mean so that nothing cancels.

    ``groups`` are the first-order sums of each group alone, shape (GROUPS, k). Of order 1, these and the
    sums of ``second`` and ``third`` order are empty.
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
        content = io.BytesIO()
        np.savez(content, **vars(self))
        return content.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Sums:
        """Return the sums that ``to_bytes`` gave, to the last bit."""
        with np.load(io.BytesIO(content)) as arrays:
            return cls(**{**arrays, "count": int(arrays["count"])})

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


def sums_of(values: Array, shift: Array, order: int, before: int) -> Sums:
    """Return the sums over ``values``, the blocks that follow on ``before`` others."""
    k = shift.size
    # A statistic of all blocks is a long row: there are many blocks and few statistics.
    moved = np.subtract(values.T, shift[:, None], order="C")
    first = moved.sum(axis=1)
    if order == 1:
        return Sums(shift, len(values), first, *(np.zeros(0) for _ in range(3)))
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
