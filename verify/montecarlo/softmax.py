"""The largest number and the softmax of rows, as fast as NumPy can."""

from functools import reduce

import numpy as np

from verify.montecarlo.distributions import Array

# Up to this many keys are faster compared one after another, each for all rows at once, than row by row.
_FEW = 16

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
