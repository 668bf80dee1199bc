"""Rows of attention: statistics of the softmax of each query's scores, and a sampler of normal rows."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np

from verify.montecarlo.attention import largest, softmax
from verify.montecarlo.blocks import Settings, double
from verify.montecarlo.distributions import NORMAL, QUERIES, Array, Distribution, VectorSource
from verify.montecarlo.inputs import Shape
from verify.montecarlo.statistics import Statistic, scale_setting


def rows_of(queries: Array, keys: Array) -> Array:
    """Return the scores QKᵀ, shape (blocks, m, n), with the keys furthest apart in memory.

    What is taken over a row's keys is then taken over long rows of numbers, one for each key.
    """
    (blocks, m), n = queries.shape[:2], keys.shape[1]
    by_key = np.empty((n, blocks, m), queries.dtype)
    np.matmul(keys, queries.swapaxes(1, 2), out=by_key.swapaxes(0, 1))
    return np.moveaxis(by_key, 0, -1)


_MIRRORED = 16
"""Keys from which on a row and the one of the other sign are nearly uncorrelated: within 0.1, measured."""

OfRow = Literal["largest", "squares", "entropy", "sharp", "jacobian", "product"]
"""Of one row: max p; Σp²; entropy in nats; 1 if that is more than half a nat below ln n, else 0; squared
Frobenius norm of diag(p) - ppᵀ; p₁(1 - p₁)."""


def of_rows(scores: Array, wanted: tuple[OfRow, ...]) -> Array:
    """Return what is wanted of each row's softmax, shape (…, len(wanted)) for scores (…, keys).

    Rows of few keys are faster where the keys lie furthest apart in memory.
    """
    rows = RowSoftmax(scores)
    return np.stack([getattr(rows, name) for name in wanted], axis=-1)


def row_means(scores: Array, wanted: tuple[OfRow, ...]) -> Array:
    """Return the means over the rows of what is wanted of each, shape (blocks, wanted).

    ``scores`` are (blocks, rows, keys); the means are in double precision.
    """
    return of_rows(scores, wanted).mean(axis=1, dtype=np.float64)


class RowSoftmax:
    """Rows of scores with their softmax, and all that may be wanted of it, each computed once.

    ``scores`` have shape (…, keys), results shape (…). Arrays are NumPy's, or those of a library ``xp`` with
    ``einsum``, ``amax`` and ``log``, whose ``weights``, the softmax of the scores, are given as well.
    """

    def __init__(self, scores: Array, weights: Array | None = None, xp: Any = np) -> None:
        self.scores, self.p, self._xp = scores, softmax(scores) if weights is None else weights, xp

    def _top(self, rows: Array) -> Array:
        return largest(rows) if self._xp is np else self._xp.amax(rows, axis=-1)

    def _sum(self, terms: str, *of: Array) -> Array:
        return self._xp.einsum(f"{terms}->...", *of)

    @cached_property
    def largest(self) -> Array:
        """The largest probability."""
        return self._top(self.p)

    @cached_property
    def squares(self) -> Array:
        """Σp²."""
        return self._sum("...j,...j", self.p, self.p)

    @cached_property
    def entropy(self) -> Array:
        """The entropy in nats."""
        # With s less its largest, ln p = s - ln Σ exp(s), and that sum is one over the largest p. Of large
        # scores those that weigh are near 0 then, and little is lost to rounding.
        moved = self.scores - self._top(self.scores)[..., None]
        return -self._xp.log(self.largest) - self._sum("...j,...j", self.p, moved)

    @cached_property
    def sharp(self) -> Array:
        """1 where the entropy is more than half a nat below that of even weights, else 0."""
        is_sharp: Any = self.entropy < np.log(self.p.shape[-1]) - 0.5
        return 1.0 * is_sharp

    @cached_property
    def jacobian(self) -> Array:
        """The squared Frobenius norm of diag(p) - ppᵀ."""
        cubes = self._sum("...j,...j,...j", self.p, self.p, self.p)
        return self.squares - 2 * cubes + self.squares**2

    @cached_property
    def product(self) -> Array:
        """p₁(1 - p₁) of the first key."""
        first = self.p[..., 0]
        return first * (1 - first)


@dataclass(frozen=True)
class SoftmaxRows(Statistic):
    """The mean over the rows of what is ``wanted`` of the softmax of c·QKᵀ, where c is ``scale``."""

    wanted: tuple[OfRow, ...]
    scale: float = 1.0

    copies = 4

    @property
    def names(self) -> tuple[str, ...]:
        return self.wanted

    def settings(self, shape: Shape) -> Settings:
        """Return the number of keys and the scale."""
        return (("n", shape.n), *scale_setting(self.scale))

    def reduce(self, queries: Array, keys: Array) -> Array:
        """Return the rows' means, shape (blocks, wanted)."""
        return row_means(rows_of(self.scale * queries, keys), self.wanted)


@dataclass(frozen=True)
class BothScales(Statistic):
    """The mean squared Frobenius norm of the rows' softmax Jacobians, unscaled and at 1/√d."""

    names = ("unscaled", "scaled")
    copies = 4

    def settings(self, shape: Shape) -> Settings:
        """Return the numbers of keys and queries, and both scales."""
        block = f"{shape.m} queries, {shape.n} keys"
        return ("n", shape.n), ("scale", r"1 and $1/\sqrt{d_k}$"), ("block", block)

    def reduce(self, queries: Array, keys: Array) -> Array:
        """Return (mean unscaled, mean scaled), shape (blocks, 2)."""
        scores, d = rows_of(queries, keys), queries.shape[2]
        both = [row_means(scale * scores, ("jacobian",)) for scale in (1.0, d**-0.5)]
        return np.concatenate(both, axis=1)


@dataclass(frozen=True)
class CausalRows(Statistic):
    """Causal rows at some positions: the mean entropy at each, then at each the share of sharp rows.

    Row t attends to the first t keys; ``positions`` count from 1, and queries come in rounds of one for each
    position. The outputs are entropy-t and sharp-t, where a row is sharp if its entropy is below ln t - ½.
    """

    positions: tuple[int, ...]
    scale: float = 1.0

    copies = 4

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{what}-{t}" for what in ("entropy", "sharp") for t in self.positions)

    @property
    def views(self) -> tuple[tuple[slice, slice], ...]:
        """The queries of each position, and the keys that they attend to."""
        places = len(self.positions)
        return tuple((slice(place, None, places), slice(t)) for place, t in enumerate(self.positions))

    def settings(self, shape: Shape) -> Settings:
        """Return the number of tokens, the mask and the scale."""
        return (("tokens", shape.n), ("mask", "causal"), *scale_setting(self.scale))

    def scores(self, shape: Shape) -> int:
        return shape.m // len(self.positions) * sum(self.positions)

    def reduce(self, queries: Array, keys: Array) -> Array:
        """Return entropies and shares, shape (blocks, 2·positions)."""
        queries = self.scale * queries
        seen = ((queries[:, some], keys[:, before]) for some, before in self.views)
        rows = [row_means(rows_of(*one), ("entropy", "sharp")) for one in seen]
        return np.concatenate(np.moveaxis(np.stack(rows), 2, 0), axis=0).T


@dataclass(frozen=True)
class RowVariance(Statistic):
    """The mean unbiased variance of the scores within a row, over which its softmax is taken."""

    names = ("row-variance",)
    copies = 2

    def reduce(self, queries: Array, keys: Array) -> Array:
        """Return the mean row variance, shape (blocks, 1)."""
        rows: Array = double(rows_of(queries, keys)).var(axis=2, ddof=1).mean(axis=1)
        return rows[:, None]


@dataclass(frozen=True)
class NormalRows:
    """Blocks are ``rows`` rows of independent normal scores of the given deviation; statistics: row means.

    What a row of normal keys looks like once the query's length is known. Of many keys and normal scores
    every second row is the one before it with the other sign: a row of the same law, whose large weights are
    those of other keys. Two such rows are nearly uncorrelated, and one of them takes no random numbers.
    """

    keys: int
    rows: int
    deviation: float
    distribution: Distribution
    wanted: tuple[OfRow, ...]

    order, univariate = 3, 0

    @property
    def settings(self) -> Settings:
        return (
            ("n", self.keys),
            ("sigma", self.deviation),
            ("scores", f"independent {self.distribution.name}"),
            *((("rows", "each also with the other sign"),) if self._mirrored else ()),
        )

    @property
    def _mirrored(self) -> bool:
        """Whether rows are drawn by half; of few keys those of the other sign would say the same."""
        return self.keys >= _MIRRORED and self.rows % 2 == 0 and self.distribution == NORMAL

    @property
    def _drawn(self) -> int:
        """How many of the rows are drawn."""
        return self.rows // 2 if self._mirrored else self.rows

    @property
    def names(self) -> tuple[str, ...]:
        return self.wanted

    @property
    def coordinates(self) -> int:
        return self._drawn * self.keys

    @property
    def scores(self) -> int:
        return self.rows * self.keys

    @property
    def held(self) -> int:
        return 5 * self.coordinates

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return the row statistics' means of ``count`` blocks, shape (count, len(wanted))."""
        rows = self._rows(rng, count)
        means = row_means(rows, self.wanted)
        if self._mirrored:
            np.negative(rows, out=rows)
            means += row_means(rows, self.wanted)
            means /= 2
        return means

    def readings(self, rng: np.random.Generator, count: int) -> tuple[tuple[VectorSource, ...], ...]:
        """Return the rows of scores."""
        law = self.distribution.moved(0, Fraction(self.deviation))
        rows = self._rows(rng, count)
        return (
            (VectorSource(np.concatenate([rows, -rows], axis=1) if self._mirrored else rows, QUERIES, law),),
        )

    def _rows(self, rng: np.random.Generator, count: int) -> Array:
        """Return the scores that are drawn for ``count`` blocks, shape (count, rows, keys)."""
        # A key of all rows is one long row in memory: sums over few keys are then sums of long rows.
        scores = self.distribution.draw(rng, (self.keys, count, self._drawn), single=True)
        scores *= self.deviation
        return np.moveaxis(scores, 0, -1)
