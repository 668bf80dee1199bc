"""Rows of two levels: leading keys and others, and within each kind all are alike."""

import numpy as np

from verify.spec.arrays import Array, softmax


def weights(high: int, keys: int, lead: float) -> Array:
    """Return softmax's weights of keys of which the first ``high`` lead all others."""
    return softmax(np.where(np.arange(keys) < high, lead, 0.0))


def weight_of_leader(lead: float, keys: int) -> float:
    """Return the weight of the single key whose score is larger than all others."""
    return float(weights(1, keys, lead)[0])
