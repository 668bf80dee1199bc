"""Rows of two levels: leading keys and others, and within each kind all are alike."""

from collections.abc import Callable
from math import comb

import numpy as np

from verify.spec.arrays import Array, softmax


def weights(high: int, keys: int, lead: float) -> Array:
    """Return softmax's weights of keys of which the first ``high`` lead all others."""
    return softmax(np.where(np.arange(keys) < high, lead, 0.0))


def mean_over_signs(of_weights: Callable[[Array], float], keys: int, size: float) -> float:
    """Return the mean of a function of the weights where every score is ±``size``, with equal chance."""
    values = (of_weights(weights(high, keys, 2 * size)) for high in range(keys + 1))
    return sum(comb(keys, high) * float(value) for high, value in enumerate(values)) / 2.0**keys
