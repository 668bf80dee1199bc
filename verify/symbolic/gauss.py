"""Gauss's rules: so few nodes integrate polynomials of nearly twice as high a degree exactly."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import scipy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_FINE = 400
"""Points that stand for the distribution of a length, many more than nodes are ever wanted."""

_MOST = 40
"""Nodes that are wanted at most."""

_LEFT_OUT = 1e-30
"""The probability left out at either end of the distribution of a length."""


def legendre(low: float, high: float, count: int) -> tuple[Array, Array]:
    """Return Gauss and Legendre's nodes and weights between two ends, shape (count,) each."""
    nodes, weights = _unit_legendre(count)
    return low + (high - low) * (nodes + 1) / 2, weights * (high - low) / 2


@cache
def _unit_legendre(count: int) -> tuple[Array, Array]:
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return nodes, weights


def of_lengths(dimension: float, count: int) -> tuple[Array, Array]:
    """Return nodes and weights, shape (count,) each, for the mean over the length of a normal vector.

    Its components are standard normal. The weights add up to 1. Nodes are the eigenvalues of the matrix by
    which the distribution's orthogonal polynomials follow from each other. Source: G. H. Golub and J. H.
    Welsch, Calculation of Gauss Quadrature Rules, Math. Comp. 23 (1969), 221-230.
    """
    diagonal, beside = _recurrence(float(dimension))
    off = np.diag(beside[: count - 1], 1)
    nodes, vectors = np.linalg.eigh(np.diag(diagonal[:count]) + off + off.T)
    return nodes, np.asarray(vectors[0] ** 2, np.float64)


@cache
def _recurrence(dimension: float) -> tuple[Array, Array]:
    """Return the diagonal and the side diagonal of that matrix, by Lanczos's method.

    The density's points are fine enough to stand for it. Every vector is made orthogonal to all before it,
    twice, for rounding would undo it.
    """
    half = dimension / 2
    low, high = scipy.special.gammaincinv(half, _LEFT_OUT), scipy.special.gammainccinv(half, _LEFT_OUT)
    lengths, weights = legendre(math.sqrt(2 * low), math.sqrt(2 * high), _FINE)
    density = np.exp(scipy.special.xlogy(dimension - 1, lengths) - lengths**2 / 2 - _log_size(half))
    vectors = np.sqrt(weights * density)[None] / math.sqrt(np.sum(weights * density))
    diagonal, beside = np.empty(_MOST), np.empty(_MOST)
    for place in range(_MOST):
        following = lengths * vectors[-1]
        diagonal[place] = following @ vectors[-1]
        for _ in range(2):
            following -= (vectors @ following) @ vectors
        beside[place] = np.linalg.norm(following)
        vectors = np.vstack([vectors, following / beside[place]])
    return diagonal, beside


def _log_size(half: float) -> float:
    """Return the logarithm of the integral of r^(d-1)·exp(-r²/2), by half of the dimension d."""
    return float((half - 1) * math.log(2) + scipy.special.gammaln(half))
