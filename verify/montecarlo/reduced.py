"""An input and a statistic together: blocks that are drawn and reduced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    import numpy as np

    from verify.montecarlo.blocks import Settings
    from verify.montecarlo.distributions import Array
    from verify.montecarlo.inputs import Input
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
