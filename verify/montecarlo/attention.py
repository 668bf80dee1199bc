"""Scaled dot-product attention and its gradients on arrays, as a program computes them."""

from functools import reduce
from typing import NamedTuple

import numpy as np

from verify.montecarlo.distributions import Array


class Gradients(NamedTuple):
    """The gradients of a loss with respect to each array of the attention."""

    queries: Array
    keys: Array
    values: Array
    scores: Array
    probabilities: Array


_FEW = 16
"""Up to this many keys are faster compared one after another, each for all rows at once, than row by row."""

_SHORT = 96  # rows of up to so many keys are faster compared half by half than row by row


def largest(rows: Array) -> Array:
    """Return the largest number of each row, over the last axis."""
    if rows.shape[-1] > _SHORT:
        return np.asarray(rows.max(axis=-1))
    while rows.shape[-1] > _FEW:
        half = (rows.shape[-1] + 1) // 2
        rows = np.maximum(rows[..., :half], rows[..., -half:])
    return reduce(np.maximum, rows.transpose(-1, *range(rows.ndim - 1)))


def softmax(scores: Array) -> Array:
    """Return exp(s)/Σexp(s) over the last axis, shape of ``scores``; minus infinity is a masked key.

    The largest score is subtracted first, which changes nothing but keeps the exponentials finite.
    """
    if scores.shape[-1] > _FEW:
        probabilities: Array = scores - largest(scores)[..., None]
        np.exp(probabilities, out=probabilities)
        probabilities /= np.einsum("...j->...", probabilities)[..., None]
        return probabilities
    by_key = np.ascontiguousarray(np.moveaxis(scores, -1, 0))
    by_key = np.exp(by_key - by_key.max(axis=0))
    few: Array = np.empty_like(scores, by_key.dtype)
    np.divide(by_key, by_key.sum(axis=0), out=np.moveaxis(few, -1, 0))
    return few


def probabilities(queries: Array, keys: Array, scale: float | Array, mask: Array | None = None) -> Array:
    """Return the attention weights softmax(c·QKᵀ + mask), shape (…, queries, keys).

    ``queries`` has shape (…, m, d), ``keys`` (…, n, d); ``mask`` is added to the scores and holds 0 or -∞.
    The scale may be an array that broadcasts, (…, 1, 1), for several at once.
    """
    scores = scale * (queries @ np.swapaxes(keys, -1, -2))
    return softmax(scores if mask is None else scores + mask)


def attention(
    queries: Array, keys: Array, values: Array, scale: float | Array, mask: Array | None = None
) -> Array:
    """Return softmax(c·QKᵀ + mask)·V, shape (…, queries, d_v).

    Source: A. Vaswani et al., Attention Is All You Need, NeurIPS 2017, equation 1.
    """
    return probabilities(queries, keys, scale, mask) @ values


def score_gradients(weights: Array, of_probabilities: Array) -> Array:
    """Return the scores' gradients dS = P∘(dP - rowsum(P∘dP)) from those of the probabilities ``weights``."""
    inner = np.einsum("...mn,...mn->...m", weights, of_probabilities)
    of_scores: Array = weights * (of_probabilities - inner[..., None])
    return of_scores


def gradients(
    queries: Array, keys: Array, values: Array, weights: Array, upstream: Array, scale: float | Array
) -> Gradients:
    """Return the gradients that ``upstream``, the gradient at the output, sends back through the attention.

    ``weights`` are the probabilities of the forward pass. dV = PᵀG, dP = GVᵀ, dS as ``score_gradients`` gives
    it, dQ = c·dS·K, dK = c·dSᵀ·Q; the claim on attention's gradients derives them.
    """
    of_probabilities = upstream @ np.swapaxes(values, -1, -2)
    of_scores = score_gradients(weights, of_probabilities)
    # Weights may be in double precision, for the digits of 1 - p; their products with vectors need not be.
    scaled, weights = (part.astype(upstream.dtype, copy=False) for part in (scale * of_scores, weights))
    of_keys, of_values = (np.swapaxes(part, -1, -2) for part in (scaled, weights))
    return Gradients(scaled @ keys, of_keys @ queries, of_values @ upstream, of_scores, of_probabilities)
