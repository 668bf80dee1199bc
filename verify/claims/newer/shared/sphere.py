"""Rows of scores of keys that are uniform on a sphere, for one query on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from verify.claims.newer.shared.rows import Rows
from verify.montecarlo.attention import softmax

if TYPE_CHECKING:
    from verify.montecarlo.blocks import Settings
    from verify.montecarlo.distributions import Array


@dataclass(frozen=True)
class SphereRows(Rows):
    """The largest weight of scores ``factor`` times the cosines of keys uniform on a sphere."""

    d: int
    factor: float
    names = ("largest",)
    rows = 4

    @property
    def maps(self) -> int:  # type: ignore[override]
        """How many numbers are drawn for each key."""
        return self.d

    @property
    def settings(self) -> Settings:
        """What is drawn, as a cell records it."""
        return *super().settings, ("d_k", self.d), ("beta", self.factor)

    def reduce(self, *drawn: Array) -> tuple[Array, ...]:
        """Return it of each row; the query is the first unit vector."""
        length = np.sqrt(sum(one**2 for one in drawn))
        return (softmax(self.factor * drawn[0] / length).max(axis=-1),)
