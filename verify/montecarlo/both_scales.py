"""Rows of attention at scale 1 and at 1/√d, from the same queries and keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from verify.montecarlo.distributions import NORMAL
from verify.montecarlo.rows import row_statistics

if TYPE_CHECKING:
    from verify.montecarlo.blocks import Settings
    from verify.montecarlo.distributions import Array


@dataclass(frozen=True)
class BothScales:
    """Blocks are ``queries`` rows over ``keys`` shared keys, all components standard normal.

    Statistics: the mean squared Frobenius norm of the rows' softmax Jacobians, unscaled and at 1/√d.
    """

    d: int
    queries: int
    keys: int

    order = 3
    names = ("unscaled", "scaled")

    @property
    def settings(self) -> Settings:
        """What is drawn, as a cell records it."""
        return (
            ("n", self.keys),
            ("d_k", self.d),
            ("components", NORMAL.name),
            ("scale", r"1 and $1/\sqrt{d_k}$"),
            ("block", f"{self.queries} queries, {self.keys} keys"),
        )

    @property
    def coordinates(self) -> int:
        """Random components drawn for one block."""
        return (self.queries + self.keys) * self.d

    @property
    def scores(self) -> int:
        """Scores that one block holds."""
        return self.queries * self.keys

    @property
    def held(self) -> int:
        """Numbers that are in memory at once while one block is drawn and reduced."""
        return self.coordinates + 4 * self.scores

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return (mean unscaled, mean scaled) of ``count`` blocks, shape (count, 2)."""
        queries = NORMAL.draw(rng, (count, self.queries, self.d))
        keys = NORMAL.draw(rng, (count, self.keys, self.d))
        scores = queries @ keys.transpose(0, 2, 1)
        rows = [row_statistics(scale * scores, ("jacobian",)) for scale in (1.0, self.d**-0.5)]
        means: Array = np.concatenate([one.mean(axis=1) for one in rows], axis=1)
        return means
