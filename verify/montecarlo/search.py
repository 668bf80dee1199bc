"""An adversary: searches among all rows of probabilities for one that breaks a bound."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import scipy

from verify.montecarlo.attention import softmax
from verify.montecarlo.distributions import Array

OfRows = Callable[[Array], Array]
"""A function of sorted rows of probabilities."""

REACH = 5.0
"""The search is over scores up to this size: beyond, eigenvalues near 0 lose digits to rounding."""


def largest_ratio(
    over: OfRows, under: OfRows, keys: int, multiple_of: tuple[OfRows, OfRows] | None = None
) -> float:
    """Return the largest over/under that differential evolution finds among rows of ``keys`` probabilities.

    Both functions get sorted rows, largest first, shape (rows, keys), and return shape (rows,). Where the
    ratio is a ``multiple_of`` that of two others, the row that is found for these is the one it is taken at.
    """
    row = worst_row(*(multiple_of or (over, under)), keys)[None]
    return float((over(row) / under(row))[0])


@cache  # the same whatever the tolerance
def worst_row(over: OfRows, under: OfRows, keys: int) -> Array:
    """Return the sorted row of ``keys`` probabilities with the largest over/under that is found.

    Source: R. Storn and K. Price, Differential Evolution, J. Global Optimization 11 (1997), 341-359.
    """

    def rows(scores: Array) -> Array:
        return -np.sort(-softmax(scores), axis=-1)

    def negative(scores: Array) -> Array:
        weights = rows(scores.T)
        result: Array = -over(weights) / under(weights)
        return result

    found = scipy.optimize.differential_evolution(
        negative,  # type: ignore[arg-type]  # SciPy's stubs know no vectorised functions
        scipy.optimize.Bounds([-REACH] * keys, [REACH] * keys),
        maxiter=40,
        popsize=max(4, 32 // keys),
        seed=keys,
        tol=0,
        polish=False,
        vectorized=True,
        updating="deferred",
    )
    return rows(found.x)


def spectral_norms(weights: Array) -> Array:
    """Return the largest eigenvalue of diag(p) - ppᵀ for each row of ``weights``, shape (rows,)."""
    matrices = weights[:, :, None] * np.eye(weights.shape[1]) - weights[:, :, None] * weights[:, None, :]
    return np.asarray(np.linalg.eigvalsh(matrices)[:, -1], np.float64)
