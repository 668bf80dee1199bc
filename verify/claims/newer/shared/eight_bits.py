"""Queries and keys in eight bits, as they are and rotated: what scores and outputs lose."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import hadamard

from verify.claims.newer.shared.rounding import rounded
from verify.montecarlo.attention import softmax
from verify.montecarlo.blocks import Settings
from verify.montecarlo.distributions import NORMAL, Array
from verify.montecarlo.reference_loops import fixed_normals, largest_difference

WIDTH = 64
_LARGEST, _LEAST = 448.0, 2.0**-9
"""The largest number of E4M3, and the spacing of its smallest."""
_RARE, _SIZE = 0.001, 10.0
"""How many components are outliers, and the standard deviation of what these get added."""


def rotation() -> Array:
    """Return an orthogonal matrix: Hadamard's, with the signs of every third row turned."""
    signs = np.where(np.arange(WIDTH) % 3 == 0, -1.0, 1.0)
    return signs[:, None] * hadamard(WIDTH) / math.sqrt(WIDTH)


def in_e4m3(values: Array) -> Array:
    """Return values, shape (…, n, d), in E4M3, each matrix scaled so that its largest is the format's."""
    scale = np.abs(values).max(axis=(-2, -1), keepdims=True) / _LARGEST
    scaled = values / scale
    small = np.rint(scaled / _LEAST) * _LEAST
    return scale * np.where(np.abs(scaled) < 2.0**-6, small, rounded(scaled, 4))


def in_int8(values: Array, axis: int | tuple[int, int] = (-2, -1)) -> Array:
    """Return values, shape (…, n, d), as whole multiples of a 127th of the largest of each matrix."""
    step = np.abs(values).max(axis=axis, keepdims=True) / 127
    return step * np.rint(values / step)


FORMATS: dict[str, Callable[[Array], Array]] = {
    "E4M3": in_e4m3,
    "int8": in_int8,
    "int8 by row": partial(in_int8, axis=-1),
}


@dataclass(frozen=True)
class EightBits:
    """Root-mean-square errors of scaled scores, and of outputs, of queries and keys in eight bits.

    A component is standard normal, and one in a thousand has a normal number of standard deviation 10 added.
    """

    keys: int
    format: str

    order, univariate = 3, 0
    names = ("scores", "scores-rotated", "outputs", "outputs-rotated")

    @property
    def settings(self) -> Settings:
        return ("n", self.keys), ("d_k", WIDTH), ("format", self.format), ("queries", _QUERIES)

    @property
    def coordinates(self) -> int:
        return 2 * (_QUERIES + self.keys) * WIDTH + self.keys

    @property
    def scores(self) -> int:
        return _QUERIES * self.keys

    @property
    def held(self) -> int:
        return 3 * self.coordinates

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return the root-mean-square errors of ``count`` blocks, shape (count, 4)."""
        queries, keys = (_with_outliers(rng, (count, many, WIDTH)) for many in (_QUERIES, self.keys))
        values = NORMAL.draw(rng, (count, self.keys, 1)).astype(np.float64)
        exact = _scores(queries, keys)
        output, turn, found = softmax(exact) @ values, rotation(), []
        for pair in ((queries, keys), (queries @ turn, keys @ turn)):
            scores = _scores(*map(FORMATS[self.format], pair))
            found += [
                ((scores - exact) ** 2).mean(axis=(1, 2)),
                ((softmax(scores) @ values - output) ** 2).mean(axis=(1, 2)),
            ]
        # The squares of rare large errors would decide a mean over blocks.
        return np.sqrt(np.stack([found[0], found[2], found[1], found[3]], axis=1))


_QUERIES = 8


def _with_outliers(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    drawn: Array = NORMAL.draw(rng, shape).astype(np.float64)
    rare = rng.random(shape, dtype=np.float32) < _RARE
    drawn[rare] += _SIZE * NORMAL.draw(rng, (int(np.count_nonzero(rare)),))
    return drawn


def _scores(queries: Array, keys: Array) -> Array:
    return queries @ keys.swapaxes(-1, -2) / math.sqrt(WIDTH)


def change_by_rotation(times: float = 1.0) -> float:
    """Return how far rotation moves fixed scores at most, the matrix multiplied by a number."""
    queries, keys = fixed_normals(8, WIDTH), fixed_normals(8, WIDTH)[::-1]
    turn = times * rotation()
    return largest_difference(_scores(queries @ turn, keys @ turn), _scores(queries, keys))
