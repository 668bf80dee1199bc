"""The unit of work: a fixed run of consecutive batches of one cell.

Sums are added inside a chunk, in the order of its batches, then in the order of the chunks. So they are the
same to the last bit whoever draws which chunk, when, and however often a sample is enlarged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from verify.montecarlo.blocks import sums_of
from verify.montecarlo.statistics.base import double
from verify.montecarlo.streams import stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from verify.montecarlo.blocks import Cell, Sample, Sums
    from verify.montecarlo.distributions import Array


@dataclass(frozen=True)
class Chunk:
    """Batches of one chunk of a cell, from ``first`` up to, but without, ``stop``.

    ``before`` are the sums of the chunk's batches before ``first``, None at its beginning; ``shift`` is what
    the cell's sums are about, None where it is not known yet.
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
        ValueError: the sampler names more or fewer outputs than it gives, or one is not finite in some block.
    """
    size, sampler = cell.batch_blocks, cell.sampler
    shift, total = chunk.shift, chunk.before
    if shift is None and chunk.first:
        shift = _shift_of(cell, chunk.claim, _batch(cell, chunk, 0))
    for batch in range(chunk.first, chunk.stop):
        values = _batch(cell, chunk, batch)
        if shift is None:
            shift = _shift_of(cell, chunk.claim, values)
        sums = sums_of(values, shift, sampler.order, batch * size, sampler.alone)
        total = sums if total is None else total.plus(sums)
    if total is None:
        raise ValueError(f"chunk from {chunk.first} to {chunk.stop}: holds no batch")
    return total


def _batch(cell: Cell, chunk: Chunk, batch: int) -> Array:
    """Return the block vectors of one batch, whichever of the cell's it is, in double precision.

    Raises:
        ValueError: an output is not finite in some block.
    """
    rng = stream(chunk.seed, chunk.claim, cell.id, batch)
    values: Array = double(cell.sampler.sample(rng, cell.batch_blocks))
    if not np.isfinite(values).all():
        outputs = zip(cell.sampler.names, values.T, strict=False)
        wrong = " and ".join(name for name, of_blocks in outputs if not np.isfinite(of_blocks).all())
        raise ValueError(f"claim {chunk.claim}, cell {cell.id}: {wrong} is not finite in some block")
    return values


def _shift_of(cell: Cell, claim: str, values: Array) -> Array:
    """Return what a cell's sums are about: the mean of its first batch's ``values``, shape (outputs,).

    Raises:
        ValueError: the sampler names more or fewer outputs than it gives.
    """
    shift: Array = values.mean(axis=0)
    if shift.shape != (len(cell.sampler.names),):
        names = ", ".join(cell.sampler.names)
        raise ValueError(f"claim {claim}, cell {cell.id}: outputs of shape {shift.shape}, but named {names}")
    return shift


@dataclass(frozen=True)
class Drawn:
    """What is drawn of a cell: the sums of its ``whole`` chunks in order, and of the ``part`` of the next."""

    batches: int = 0
    whole: Sums | None = None
    part: Sums | None = None

    def missing(self, claim: str, seed: int, batches: int, per_chunk: int) -> Iterator[Chunk]:
        """Yield the chunks that lead from here to so many ``batches``, in order."""
        first, known = self.batches, self.part or self.whole
        before, shift = self.part, None if known is None else known.shift
        while first < batches:
            stop = min(batches, (first // per_chunk + 1) * per_chunk)
            yield Chunk(seed, claim, first, stop, before, shift)
            first, before = stop, None

    def then(self, chunk: Chunk, sums: Sums, per_chunk: int) -> Drawn:
        """Return this with the next chunk, whose sums include the part of it that was there."""
        if chunk.stop % per_chunk:
            return replace(self, batches=chunk.stop, part=sums)
        return Drawn(chunk.stop, sums if self.whole is None else self.whole.plus(sums))

    @property
    def total(self) -> Sums:
        """The sums over all blocks drawn.

        Raises:
            ValueError: there are none.
        """
        if self.whole is None or self.part is None:
            either = self.part or self.whole
            if either is None:
                raise ValueError("nothing is drawn")
            return either
        return self.whole.plus(self.part)

    def sample(self, cell: Cell) -> Sample:
        """Return the moments of the cell's blocks drawn so far."""
        return self.total.sample(cell)


def draw(
    cell: Cell,
    claim: str,
    seed: int,
    blocks: int,
    so_far: Drawn | None,
    mapper: Callable[[Callable[[Chunk], Sums], Iterable[Chunk]], Iterable[Sums]],
) -> Drawn:
    """Return at least ``blocks`` blocks drawn, in whole batches, going on from ``so_far``.

    ``mapper`` applies a function to chunks and yields results in their order; threads come in there.

    Raises:
        ValueError: the sampler names more or fewer outputs than it gives.
    """
    drawn, per_chunk = so_far or Drawn(), cell.chunk_batches
    chunks = list(drawn.missing(claim, seed, -(-blocks // cell.batch_blocks), per_chunk))
    with threadpool_limits(limits=1):
        for chunk, sums in zip(chunks, mapper(lambda one: draw_chunk(cell, one), chunks), strict=True):
            drawn = drawn.then(chunk, sums, per_chunk)
    return drawn


class Request(NamedTuple):
    """A cell of which at least so many blocks are to be drawn."""

    cell: Cell
    blocks: int


class Drawing:
    """Draws the cells of one claim here, and keeps what is drawn of each."""

    def __init__(
        self,
        claim: str,
        seed: int,
        mapper: Callable[[Callable[[Chunk], Sums], Iterable[Chunk]], Iterable[Sums]] = map,
    ) -> None:
        self._claim, self._seed, self._mapper = claim, seed, mapper
        self._drawn: dict[str, Drawn] = {}

    def __call__(self, requests: Sequence[Request]) -> tuple[Sums, ...]:
        """Return the sums of each cell requested."""
        for cell, blocks in requests:
            so_far = self._drawn.get(cell.id)
            self._drawn[cell.id] = draw(cell, self._claim, self._seed, blocks, so_far, self._mapper)
        return tuple(self._drawn[request.cell.id].total for request in requests)
