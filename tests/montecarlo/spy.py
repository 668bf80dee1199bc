"""What stands in for the normals that a sampler draws, and remembers them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from verify.montecarlo.distributions import NORMAL
from verify.montecarlo.inputs import bartlett_vectors

if TYPE_CHECKING:
    from verify.montecarlo.distributions import Array


class Spy:
    """Draws normals, as a distribution or as vectors in axes of their own, and keeps what it draws."""

    def __init__(self) -> None:
        self.drawn: list[Array] = []

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...], *, single: bool = False) -> Array:
        """Draw normals and keep a copy in double precision."""
        values = NORMAL.draw(rng, shape, single=single)
        self.drawn.append(values.astype(np.float64))
        return values

    def vectors(
        self, rng: np.random.Generator, count: int, many: int, d: int, axes: int | None = None
    ) -> Array:
        """Draw vectors and keep a copy in double precision."""
        values = bartlett_vectors(rng, count, many, d, axes)
        self.drawn.append(values.astype(np.float64))
        return values
