"""The second singular value of square matrices of weights."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from verify.montecarlo.attention import softmax
from verify.montecarlo.blocks import Settings
from verify.montecarlo.distributions import NORMAL, Array


@dataclass(frozen=True)
class SecondValues:
    """The second singular value of n × n weights: of independent normal scores, or of scaled q·k."""

    keys: int
    deviation: float
    d: int = 0

    order, univariate = 3, 0
    names = ("second",)

    @property
    def settings(self) -> Settings:
        made_of = (("d_k", self.d),) if self.d else (("scores", "independent"),)
        return ("n", self.keys), ("sigma", self.deviation), *made_of

    @property
    def coordinates(self) -> int:
        return 2 * self.keys * self.d or self.keys**2

    @property
    def scores(self) -> int:
        return self.keys**2

    @property
    def held(self) -> int:
        return 4 * self.keys**2

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return it of ``count`` matrices, shape (count, 1)."""
        if self.d:
            queries, keys = NORMAL.draw(rng, (2, count, self.keys, self.d))
            scores = queries @ keys.swapaxes(1, 2) / math.sqrt(self.d)
        else:
            scores = NORMAL.draw(rng, (count, self.keys, self.keys))
        weights = softmax(self.deviation * scores).astype(np.float64)
        squares = np.linalg.eigvalsh(weights @ weights.swapaxes(1, 2))
        return np.sqrt(squares[:, -2:-1])
