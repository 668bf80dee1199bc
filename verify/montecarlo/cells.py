"""Cells: one setting each, in which blocks of random numbers are drawn and reduced to a few means."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from verify.montecarlo.compiling import Compiled, Compiler
from verify.montecarlo.distributions import Array, Distribution
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
        return np.concatenate([self.compiled.run(piece, rng) for piece in pieces])
