"""An adversary: searches among all rows of probabilities for one that breaks a bound."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from verify.montecarlo.attention import softmax
from verify.montecarlo.distributions import Array

OfRows = Callable[[Array], Array]
"""A function of sorted rows of probabilities."""

REACH = 5.0
"""The search is over scores up to this size: beyond, eigenvalues near 0 lose digits to rounding."""

_GENERATIONS = 60
"""How often every row is tried with a change."""

_CROSSED = 0.7
"""The probability with which a score is taken from the changed row."""

_FACTORS = (0.5, 1.0)
"""Between which the factor on the difference of two rows is drawn, once in a generation."""


@cache  # the same whatever the tolerance
def largest_ratio(over: OfRows, under: OfRows, keys: int) -> float:
    """Return the largest over/under that differential evolution finds among rows of ``keys`` probabilities.

    Both functions get sorted rows, largest first, shape (rows, keys), and return shape (rows,). All rows of
    a generation are changed at once: to the best, plus a multiple of the difference of two others. Source: R.
    Storn and K. Price, Differential Evolution, J. Global Optimization 11 (1997), 341-359.
    """

    def ratios(scores: Array) -> Array:
        weights = -np.sort(-softmax(scores), axis=1)
        result: Array = over(weights) / under(weights)
        return result

    rng = np.random.default_rng(keys)
    scores = rng.uniform(-REACH, REACH, (max(4 * keys, 32), keys))
    found = ratios(scores)
    for _ in range(_GENERATIONS):
        tried = _changed(scores, scores[np.argmax(found)], rng)
        reached = ratios(tried)
        better = reached >= found
        scores[better], found[better] = tried[better], reached[better]
    return float(np.max(found))


def _changed(scores: Array, best: Array, rng: np.random.Generator) -> Array:
    """Return a change of every row: at least one of its scores, and what would be beyond the reach anew."""
    rows, keys = scores.shape
    order = rng.random((rows, rows))
    np.fill_diagonal(order, 2.0)  # no row is one of its own two others
    one, other = np.argpartition(order, 2, axis=1)[:, :2].T
    changed = best + rng.uniform(*_FACTORS) * (scores[one] - scores[other])
    anew = rng.uniform(-REACH, REACH, scores.shape)
    changed = np.where(np.abs(changed) > REACH, anew, changed)
    crossed = rng.random(scores.shape) < _CROSSED
    crossed[np.arange(rows), rng.integers(keys, size=rows)] = True
    return np.where(crossed, changed, scores)


def spectral_norms(weights: Array) -> Array:
    """Return the largest eigenvalue of diag(p) - ppᵀ for each row of ``weights``, shape (rows,)."""
    matrices = weights[:, :, None] * np.eye(weights.shape[1]) - weights[:, :, None] * weights[:, None, :]
    return np.asarray(np.linalg.eigvalsh(matrices)[:, -1], np.float64)
