"""What the claims about the pipeline alone measure with: its array code, its score matrices, its values."""

from dataclasses import dataclass

import numpy as np

from verify.montecarlo.attention import attention
from verify.montecarlo.blocks import Settings, double
from verify.montecarlo.distributions import KEYS, QUERIES, Array, Distribution, VectorSource
from verify.montecarlo.experiment import EXACTLY


@dataclass(frozen=True)
class ScoresBesideValues:
    """Blocks are a score matrix and one value for each key; statistics: mean S, S², V², and S²·V².

    V² is the mean square of a value's components, and multiplied by the squared scores of its own key: their
    covariance tells whether values have a part in scores. Without a distribution of their own the values are
    the keys themselves, as in the wrong world where they do.
    """

    d: int
    d_v: int
    side: int
    distribution: Distribution
    values: Distribution | None = None

    order, univariate = 3, 0
    names = ("mean", "square", "value-square", "product")

    @property
    def settings(self) -> Settings:
        return (
            ("d_k", self.d),
            ("d_v", self.d_v),
            ("query, key", self.distribution.name),
            ("values", self.values.name if self.values else "the keys"),
            ("block", f"{self.side}×{self.side}"),
        )

    @property
    def coordinates(self) -> int:
        return (2 * self.d + (self.d_v if self.values else 0)) * self.side

    @property
    def scores(self) -> int:
        return self.side**2

    @property
    def held(self) -> int:
        return self.coordinates + self.scores

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return (mean S, mean S², mean V², mean S²·V²), shape (count, 4)."""
        queries, keys, values = self._drawn(rng, count)
        scores = double(queries @ keys.transpose(0, 2, 1))
        of_keys, sizes = (scores**2).mean(axis=1), (values**2).mean(axis=2, dtype=np.float64)
        means = [one.mean(axis=1) for one in (of_keys, sizes, of_keys * sizes)]
        return np.stack([scores.mean(axis=(1, 2)), *means], axis=1)

    def _drawn(self, rng: np.random.Generator, count: int) -> tuple[Array, Array, Array]:
        shape = count, self.side, self.d
        queries, keys = (self.distribution.draw(rng, shape, single=True) for _ in range(2))
        values = self.values.draw(rng, (*shape[:2], self.d_v), single=True) if self.values else keys
        return queries, keys, values

    def readings(self, rng: np.random.Generator, count: int) -> tuple[tuple[VectorSource, ...], ...]:
        """Return queries, keys and, where they are not the keys, the values."""
        queries, keys, values = self._drawn(rng, count)
        own = (VectorSource(values, KEYS, self.values),) if self.values else ()
        return (
            (
                VectorSource(queries, QUERIES, self.distribution),
                VectorSource(keys, KEYS, self.distribution),
                *own,
            ),
        )
