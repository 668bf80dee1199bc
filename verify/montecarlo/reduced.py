"""An input and a statistic together: blocks that are drawn and reduced, or recorded and reduced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from verify.montecarlo.blocks import BATCH_COORDINATES, summed

if TYPE_CHECKING:
    import numpy as np

    from verify.montecarlo.blocks import Sample, Settings
    from verify.montecarlo.distributions import Array
    from verify.montecarlo.inputs import Input, Recorded
    from verify.montecarlo.statistics.base import Statistic


@dataclass(frozen=True)
class Reduced:
    """Blocks are the queries and keys of an input; what is kept of them is a statistic."""

    input: Input
    statistic: Statistic

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


def sample_of(recorded: Recorded, statistic: Statistic) -> Sample:
    """Return the moments of a statistic over all recorded sequences, each of them one block.

    Raises:
        ValueError: there are fewer than two sequences, so that nothing is known of their scatter.
    """
    if recorded.blocks < 2:
        raise ValueError(f"{recorded.blocks} recorded sequences have no scatter; record two or more")
    size = max(1, BATCH_COORDINATES // recorded.coordinates)
    batches = (
        statistic.reduce(*recorded.take(first, first + size)) for first in range(0, recorded.blocks, size)
    )
    scores = statistic.scores(recorded.shape)
    return summed(batches, statistic.order).moments(recorded.coordinates, scores, statistic.names)
