"""Score matrices reduced to means of powers of the scores' sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from verify.montecarlo.blocks import Settings
    from verify.montecarlo.distributions import Array, Distribution


_NAMES = {1: "size", 2: "square", 4: "fourth"}


@dataclass(frozen=True)
class ScorePowers:
    """Blocks are side×side score matrices; statistics: the mean of |S|^p for each of ``powers``."""

    d: int
    side: int
    query: Distribution
    key: Distribution
    powers: tuple[Literal[1, 2, 4], ...]

    order = 3

    @property
    def settings(self) -> Settings:
        """What is drawn, as a cell records it."""
        block = f"{self.side}×{self.side}"
        return ("d_k", self.d), ("query", self.query.name), ("key", self.key.name), ("block", block)

    @property
    def names(self) -> tuple[str, ...]:
        """What the statistics are called."""
        return tuple(_NAMES[power] for power in self.powers)

    @property
    def coordinates(self) -> int:
        """Random components drawn for one block."""
        return 2 * self.side * self.d

    @property
    def scores(self) -> int:
        """Scores that one block holds."""
        return self.side**2

    @property
    def held(self) -> int:
        """Numbers that are in memory at once while one block is drawn and reduced."""
        return self.coordinates + 3 * self.scores

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return the mean powers of ``count`` score matrices, shape (count, len(powers))."""
        shape = (count, self.side, self.d)
        scores = self.query.draw(rng, shape) @ self.key.draw(rng, shape).transpose(0, 2, 1)
        squares = scores * scores
        powers = {1: np.abs(scores), 2: squares, 4: squares * squares}
        return np.stack([powers[power].mean(axis=(1, 2)) for power in self.powers], axis=1)
