"""Sampler of rows whose scale is fitted to their output, and that fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from verify.montecarlo.attention import softmax
from verify.montecarlo.blocks import Settings
from verify.montecarlo.distributions import NORMAL, Array

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
        shape = ("n", self.keys), ("d_k", self.d), ("d_v", self.value_d)
        errors = ("error of an entry", self.error), ("block", f"one row, {self.times} times errors")
        return *shape, ("scale", self.scale), *errors

    @property
    def coordinates(self) -> int:
        return self.d + self.keys * (self.d + self.value_d) + self.times * self.value_d

    @property
    def scores(self) -> int:
        return self.keys

    @property
    def held(self) -> int:
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
