"""Second sources for the array code: derivatives without formulas, plain loops, a search for a worst row."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import scipy

from verify.montecarlo.distributions import Array
from verify.montecarlo.softmax import softmax

Sees = Callable[[int, int], bool]  # whether a query, by its number, may see a key

SHAPE = (3, 4, 5, 2)  # queries, keys, and the dimensions of queries and of values, of the fixed matrices


def fixed_normals(*shape: int) -> Array:
    """Return standard normal numbers in an array of this shape, the same each time."""
    return np.random.default_rng(1).normal(size=shape)


def attention_in_loops(
    queries: Array, keys: Array, values: Array, scale: float, sees: Sees = lambda _row, _place: True
) -> Array:
    """Return softmax(c·QKᵀ)·V entry by entry, over the keys that each query ``sees``, shape (queries, d_v).

    Source: A. Vaswani et al., Attention Is All You Need, NeurIPS 2017, equation 1. Complex arrays stay
    complex, so that the loops can be differentiated by complex steps.
    """
    output = np.zeros((len(queries), values.shape[1]), np.result_type(queries, keys, values))
    for row, query in enumerate(queries):
        seen = [place for place in range(len(keys)) if sees(row, place)]
        weights = [np.exp(scale * sum(x * y for x, y in zip(query, keys[j], strict=True))) for j in seen]
        for column in range(values.shape[1]):
            weighted = sum(weight * values[j, column] for weight, j in zip(weights, seen, strict=True))
            output[row, column] = weighted / sum(weights)
    return output


def drawn() -> tuple[Array, Array, Array, Array]:
    """Return fixed matrices of normal entries: queries, keys, values and the gradient at the output."""
    queries, keys, dimension, values = SHAPE
    normal = np.random.default_rng(1).normal
    of_queries, of_keys = normal(size=(queries, dimension)), normal(size=(keys, dimension))
    return of_queries, of_keys, normal(size=(keys, values)), normal(size=(queries, values))


_STEP = 1e-30  # so small that the error, of the order of its square, is nothing; and no difference is taken


def complex_step(function: Callable[[Any], Any], at: Array) -> Array:
    """Return the derivatives of ``function`` by every entry of ``at``, shape ``at.shape`` + output's shape.

    ``function`` must be analytic, and treat axes before those of ``at`` as a batch. Source: W. Squire and
    G. Trapp, Using Complex Variables to Estimate Derivatives of Real Functions, SIAM Rev. 40 (1998).

    Raises:
        TypeError: ``function`` returns real numbers, so its derivative cannot be read off.
    """
    directions = np.eye(at.size).reshape(at.size, *at.shape)
    moved = np.asarray(function(at + 1j * _STEP * directions))
    if not np.iscomplexobj(moved):
        raise TypeError("a function whose gradient is needed must be analytic: no absolute values, no parts")
    derivatives: Array = moved.imag / _STEP
    return derivatives.reshape(*at.shape, *derivatives.shape[1:])


def gradients_of_loops(
    queries: Array, keys: Array, values: Array, upstream: Array, scale: float
) -> tuple[Array, Array, Array]:
    """Return dQ, dK and dV of the loss ΣG·output of the loops, by complex steps, without any formula."""

    def slopes(at: Array, output: Callable[[Any], Any]) -> Array:
        return complex_step(lambda steps: np.array([np.sum(upstream * output(moved)) for moved in steps]), at)

    return (
        slopes(queries, lambda moved: attention_in_loops(moved, keys, values, scale)),
        slopes(keys, lambda moved: attention_in_loops(queries, moved, values, scale)),
        slopes(values, lambda moved: attention_in_loops(queries, keys, moved, scale)),
    )


def over_queries(scores: Array) -> Array:
    """Return the softmax along the wrong axis: every key's weights over the queries sum to 1."""
    return np.swapaxes(softmax(np.swapaxes(scores, -1, -2)), -1, -2)


OfRows = Callable[[Array], Array]  # a function of sorted rows of probabilities

REACH = 5.0  # the search is over scores up to this size: beyond, eigenvalues near 0 lose digits to rounding


@cache  # the same whatever the tolerance
def largest_ratio(over: OfRows, under: OfRows, keys: int) -> float:
    """Return the largest over/under that differential evolution finds among rows of ``keys`` probabilities.

    Both functions get sorted rows, largest first, shape (rows, keys), and return shape (rows,).
    Source: R. Storn and K. Price, Differential Evolution, J. Global Optimization 11 (1997), 341-359.
    """

    def rows(scores: Array) -> Array:
        return -np.sort(-softmax(scores), axis=-1)

    def negative(scores: Array) -> Array:
        weights = rows(scores.T)
        return -over(weights) / under(weights)

    # A fixed seed and number of generations: the same row each time, on every machine.
    search = scipy.optimize.differential_evolution(
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
    row = rows(search.x)[None]
    return float((over(row) / under(row))[0])


def spectral_norms(weights: Array) -> Array:
    """Return the largest eigenvalue of diag(p) - ppᵀ for each row of ``weights``, shape (rows,)."""
    matrices = weights[:, :, None] * np.eye(weights.shape[1]) - weights[:, :, None] * weights[:, None, :]
    return np.asarray(np.linalg.eigvalsh(matrices)[:, -1], np.float64)
