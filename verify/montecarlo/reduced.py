"""An input and a statistic together: blocks that are drawn and reduced."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from verify.montecarlo.sources import QUERIES

if TYPE_CHECKING:
    import numpy as np

    from verify.montecarlo.blocks import Settings
    from verify.montecarlo.distributions import Array
    from verify.montecarlo.inputs import Input
    from verify.montecarlo.sources import Source
    from verify.montecarlo.statistics.base import Statistic


@dataclass(frozen=True)
class Reduced:
    """Blocks are the queries and keys of an input; what is kept of them is a statistic."""

    input: Input
    statistic: Statistic
    alone: ClassVar[int] = 0

    @property
    def settings(self) -> Settings:
        """What is drawn and what is made of it, as a cell records it."""
        return (*self.input.settings, *self.statistic.settings(self.input.shape))

    @property
    def names(self) -> tuple[str, ...]:
        """What each number of a block vector is."""
        return self.statistic.names

    @property
    def order(self) -> int:
        """Highest order of the joint moments that the statistic's estimates need."""
        return self.statistic.order

    @property
    def coordinates(self) -> int:
        """Random components drawn for one block."""
        return self.input.coordinates

    @property
    def scores(self) -> int:
        """Scores of one block that enter."""
        return self.statistic.scores(self.input.shape)

    @property
    def held(self) -> int:
        """Numbers that are in memory at once while one block is drawn and reduced."""
        return self.input.held + self.statistic.held(self.input.shape)

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return the block vectors of ``count`` independent blocks, shape (count, names)."""
        return self.statistic.reduce(*self.input.draw(rng, count, columns=self.statistic.columns))

    def readings(self, rng: np.random.Generator, count: int) -> tuple[tuple[Source, ...], ...]:
        """Return what the input's draws from the same stream are made of, in each view of the statistic."""
        drawn = self.input.sources(rng, count, columns=self.statistic.columns)
        if self.statistic.paired:
            drawn = tuple(replace(one, place=QUERIES) for one in drawn)
        return tuple(tuple(one.at(view) for one in drawn) for view in self.statistic.views)
