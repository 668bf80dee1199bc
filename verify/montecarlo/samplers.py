"""Samplers of rows of scores and of values, which are no function of queries and keys alone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from verify.montecarlo.attention import softmax
from verify.montecarlo.blocks import double
from verify.montecarlo.distributions import NORMAL
from verify.montecarlo.rows import row_means
from verify.montecarlo.sources import KEYS, QUERIES, Source

if TYPE_CHECKING:
    from verify.montecarlo.blocks import Settings
    from verify.montecarlo.distributions import Array, Distribution
    from verify.montecarlo.rows import OfRow


@dataclass(frozen=True)
class NormalRows:
    """Blocks are ``rows`` rows of independent normal scores of the given deviation; statistics: row means.

    What a row of normal keys looks like once the query's length is known.
    """

    keys: int
    rows: int
    deviation: float
    distribution: Distribution
    wanted: tuple[OfRow, ...]

    order, univariate = 3, 0

    @property
    def settings(self) -> Settings:
        """What is drawn, as a cell records it."""
        return (
            ("n", self.keys),
            ("sigma", self.deviation),
            ("scores", f"independent {self.distribution.name}"),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """What each number of a block vector is."""
        return self.wanted

    @property
    def coordinates(self) -> int:
        """Random components drawn for one block."""
        return self.rows * self.keys

    @property
    def scores(self) -> int:
        """Scores that one block holds."""
        return self.rows * self.keys

    @property
    def held(self) -> int:
        """Numbers that are in memory at once while one block is drawn and reduced."""
        return 5 * self.scores

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return the row statistics' means of ``count`` blocks, shape (count, len(wanted))."""
        return row_means(self._rows(rng, count), self.wanted)

    def readings(self, rng: np.random.Generator, count: int) -> tuple[tuple[Source, ...], ...]:
        """Return the rows of scores."""
        law = self.distribution.moved(0, Fraction(self.deviation))
        return ((Source(self._rows(rng, count), QUERIES, law),),)

    def _rows(self, rng: np.random.Generator, count: int) -> Array:
        """Return the scores of ``count`` blocks, shape (count, rows, keys)."""
        # A key of all rows is one long row in memory: sums over few keys are then sums of long rows.
        scores = self.distribution.draw(rng, (self.keys, count, self.rows), single=True)
        scores *= self.deviation
        return np.moveaxis(scores, 0, -1)


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
        """What is drawn, as a cell records it."""
        return (
            ("d_k", self.d),
            ("d_v", self.d_v),
            ("query, key", self.distribution.name),
            ("values", self.values.name if self.values else "the keys"),
            ("block", f"{self.side}×{self.side}"),
        )

    @property
    def coordinates(self) -> int:
        """Random components drawn for one block."""
        return (2 * self.d + (self.d_v if self.values else 0)) * self.side

    @property
    def scores(self) -> int:
        """Scores that one block holds."""
        return self.side**2

    @property
    def held(self) -> int:
        """Numbers that are in memory at once while one block is drawn and reduced."""
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

    def readings(self, rng: np.random.Generator, count: int) -> tuple[tuple[Source, ...], ...]:
        """Return queries, keys and, where they are not the keys, the values."""
        queries, keys, values = self._drawn(rng, count)
        own = (Source(values, KEYS, self.values),) if self.values else ()
        return ((Source(queries, QUERIES, self.distribution), Source(keys, KEYS, self.distribution), *own),)


_CONVERGED = 1e-13
"""No more rounds follow on steps so small, relative to the scale."""

_ROUNDS = 6
"""Gauss-Newton converges quadratically where errors are small; from a start 5% off four rounds are enough."""


@dataclass(frozen=True)
class RecoveredScales:
    """Blocks are single rows whose scale is fitted by least squares to their output with errors.

    Components of query, keys and values are standard normal, and errors of the output's entries independent
    and normal with standard deviation ``error``; a row's output has them ``times`` over, each time fitted
    by itself. Statistics, means over these times: the fitted scale less the true one, in units of error/√Σg²,
    with g the covariances of scores and values under the weights, and the square of that.
    """

    d: int
    keys: int
    value_d: int
    scale: float
    error: float
    times: int = 1

    order, univariate = 3, 0
    names = ("deviation", "square")

    @property
    def settings(self) -> Settings:
        """What is drawn, as a cell records it."""
        shape = ("n", self.keys), ("d_k", self.d), ("d_v", self.value_d)
        errors = ("error of an entry", self.error), ("block", f"one row, {self.times} times errors")
        return *shape, ("scale", self.scale), *errors

    @property
    def coordinates(self) -> int:
        """Random components drawn for one block."""
        return self.d + self.keys * (self.d + self.value_d) + self.times * self.value_d

    @property
    def scores(self) -> int:
        """Scores that one block holds."""
        return self.keys

    @property
    def held(self) -> int:
        """Numbers that are in memory at once while one block is drawn and reduced."""
        return self.coordinates + self.times * (8 * self.keys + 4 * self.value_d)

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return (deviation, its square) of ``count`` blocks, shape (count, 2)."""
        query = NORMAL.draw(rng, (count, self.d))
        keys = NORMAL.draw(rng, (count, self.keys, self.d))
        # All rows' entries of one place are one long row in memory: there are few of a row.
        values, errors = (
            np.moveaxis(NORMAL.draw(rng, (many, self.value_d, count)), -1, 0)
            for many in (self.keys, self.times)
        )
        of_rows = np.ascontiguousarray(np.einsum("bd,bnd->nb", query, keys)).T
        scores, values = of_rows[:, None], values[:, None]
        output, slope = response(scores, values, self.scale)
        fitted = fitted_scale(scores, values, output + self.error * errors, 1.05 * self.scale)
        information = np.einsum("...v,...v->...", slope, slope)
        deviation = (fitted - self.scale) * np.sqrt(information) / self.error
        return np.stack([deviation.mean(axis=1), (deviation**2).mean(axis=1)], axis=1)


def response(scores: Array, values: Array, scale: Array | float) -> tuple[Array, Array]:
    """Return the output softmax(c·s)·V and its derivative by the scale c, both of shape (…, d_v).

    The derivative is the covariance of scores and values under the weights. ``scores`` have shape (…, keys),
    ``values`` (…, keys, d_v), ``scale`` one number or shape (…).
    """
    weights = softmax(np.asarray(scale)[..., None] * scores)
    output = np.einsum("...n,...nv->...v", weights, values)
    mean = np.einsum("...n,...n->...", weights, scores)[..., None]
    slope: Array = np.einsum("...n,...nv->...v", weights * scores, values) - mean * output
    return output, slope


def fitted_scale(scores: Array, values: Array, output: Array, start: float) -> Array:
    """Return the scale whose output is nearest to ``output`` by least squares, shape (…), by Gauss-Newton."""
    scale = np.full_like(output[..., 0], start)
    for _ in range(_ROUNDS):
        found, slope = response(scores, values, scale)
        residual = np.einsum("...v,...v->...", slope, output - found)
        step = residual / np.einsum("...v,...v->...", slope, slope)
        scale += step
        if np.all(np.abs(step) <= _CONVERGED * np.abs(scale)):
            break
    return scale
