"""Numbers of eight bits; and scores that are clipped."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import hadamard

from verify.montecarlo.attention import softmax
from verify.montecarlo.blocks import Settings, double
from verify.montecarlo.distributions import NORMAL, Array
from verify.montecarlo.inputs import Shape
from verify.montecarlo.reference_loops import fixed_normals, largest_difference
from verify.montecarlo.statistics import Statistic, scores_of


WIDTH = 64
_LARGEST = 448.0  # the largest number of E4M3
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
    # Four significant bits; below 2⁻⁶ the spacing stays the same.
    _, exponents = np.frexp(np.maximum(np.abs(scaled), 2.0**-6))
    spacing = np.ldexp(scaled.dtype.type(2.0**-4), exponents)
    return scale * (np.rint(scaled / spacing) * spacing)


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
        values = NORMAL.draw(rng, (count, self.keys, 1), single=True)
        exact = _scores(queries, keys)
        output, turn, found = softmax(exact) @ values, rotation().astype(np.float32), []
        for pair in ((queries, keys), (queries @ turn, keys @ turn)):
            scores = _scores(*map(FORMATS[self.format], pair))
            found += [
                (double(scores - exact) ** 2).mean(axis=(1, 2)),
                (double(softmax(scores) @ values - output) ** 2).mean(axis=(1, 2)),
            ]
        # The squares of rare large errors would decide a mean over blocks.
        return np.sqrt(np.stack([found[0], found[2], found[1], found[3]], axis=1))


_QUERIES = 32


def _with_outliers(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    drawn: Array = NORMAL.draw(rng, shape, single=True)
    rare = rng.choice(drawn.size, rng.binomial(drawn.size, _RARE), replace=False, shuffle=False)
    drawn.reshape(-1)[rare] += np.float32(_SIZE) * NORMAL.draw(rng, rare.shape, single=True)
    return drawn


def _scores(queries: Array, keys: Array) -> Array:
    return queries @ keys.swapaxes(-1, -2) / math.sqrt(WIDTH)


def change_by_rotation(times: float = 1.0) -> float:
    """Return how far rotation moves fixed scores at most, the matrix multiplied by a number."""
    queries, keys = fixed_normals(8, WIDTH), fixed_normals(8, WIDTH)[::-1]
    turn = times * rotation()
    return largest_difference(_scores(queries @ turn, keys @ turn), _scores(queries, keys))


def clipped(queries: Array, keys: Array, level: float) -> Array:
    """Return the scores after queries and keys are multiplied by √min(1, level/largest), shape (…, m, n)."""
    largest = scores_of(queries, keys).max(axis=(-2, -1), keepdims=True)
    root = np.sqrt(np.minimum(1, level / np.maximum(largest, level)))
    return scores_of(root * queries, root * keys)


@dataclass(frozen=True)
class ClippedScores(Statistic):
    """In which share of inputs a score is below minus the level once the largest is brought to it.

    Inputs are each ``group`` of a block's queries with each ``group`` of its keys. Those that share some are
    hardly correlated: whatever these are, the others are as likely of the other sign.
    """

    level: float
    group: int
    names = ("below",)
    copies = 8

    def settings(self, shape: Shape) -> Settings:
        """Return the block, and what of it is an input."""
        return *super().settings(shape), ("input", f"{self.group} queries, {self.group} keys")

    def reduce(self, queries: Array, keys: Array) -> Array:
        """Return the share, shape (blocks, 1)."""
        queries, keys = (one.reshape(len(one), -1, self.group, one.shape[2]) for one in (queries, keys))
        least = clipped(queries[:, :, None], keys[:, None], self.level).min(axis=(3, 4))
        return (least < -self.level).mean(axis=(1, 2))[:, None]


def largest_clipped(level: float) -> float:
    """Return the largest of fixed scores after clipping."""
    return float(clipped(fixed_normals(32, 16), fixed_normals(32, 16)[::-1] + 0.5, level).max())


def distance_from_temperature(level: float, power: float = 1.0) -> float:
    """Return how far weights of clipped scores are from those of scores times (level/largest)^power."""
    queries, keys = fixed_normals(32, 16), fixed_normals(32, 16)[::-1] + 0.5
    scores = scores_of(queries, keys)
    return largest_difference(
        softmax(clipped(queries, keys, level)), softmax((level / scores.max()) ** power * scores)
    )
