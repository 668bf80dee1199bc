"""What the catalogue derives for rows of unit variance, by the numbers of keys that rows see."""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import scipy

from verify.symbolic.row_integrals import (
    Approximation,
    mean_entropy,
    mean_jacobian,
    mean_largest_weight,
    mean_squares,
)

OfKeys = Callable[[int], float]

_SEVERAL = 24
"""Different numbers of keys from which on a polynomial in their logarithm stands in for the integrals."""

_ROUGH = 1e-3  # relative error from which on an integral is no reference


def entropy_share(keys: int) -> float:
    """Return E H/ln n of independent standard normal scores; NaN where that is not known well."""
    return _known(mean_entropy(keys, 1.0)) / math.log(keys)


def squares(keys: int) -> float:
    """Return E Σp² of independent standard normal scores."""
    return _known(mean_squares(keys, 1.0))


def jacobian(keys: int) -> float:
    """Return E‖J‖²_F of independent standard normal scores."""
    return _known(mean_jacobian(keys, 1.0))


def largest_weight(keys: int) -> float:
    """Return E max p of independent standard normal scores."""
    return _known(mean_largest_weight(keys, 1.0))


@lru_cache(maxsize=1024)
def over_rows(of_keys: OfKeys, keys: tuple[int, ...], rows: tuple[int, ...]) -> float:
    """Return the mean of ``of_keys`` over rows: ``rows[i]`` of them see ``keys[i]`` keys."""
    if len(keys) < _SEVERAL:
        values = np.array([of_keys(one) for one in keys])
    else:
        values = _interpolated(of_keys, keys)
    return float(np.average(values, weights=rows))


def _interpolated(of_keys: OfKeys, keys: tuple[int, ...]) -> np.ndarray:
    low, high = math.log(keys[0]), math.log(keys[-1])
    angles = (2 * np.arange(_SEVERAL) + 1) * math.pi / (2 * _SEVERAL)
    nodes = np.unique(np.exp((low + high) / 2 + (high - low) / 2 * np.cos(angles)).round().astype(int))
    values = [math.log(of_keys(int(node))) for node in nodes]
    found: np.ndarray = np.exp(scipy.interpolate.BarycentricInterpolator(np.log(nodes), values)(np.log(keys)))
    return found


def _known(found: Approximation) -> float:
    return found.value if found.error <= _ROUGH * found.value else math.nan
