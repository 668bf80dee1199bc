"""The largest weight of keys that are uniform on a sphere, where scores are a factor times cosines."""

import math

import numpy as np
import scipy

from verify.spec.arrays import Array

_TOP, _TOP_WEIGHTS = np.polynomial.legendre.leggauss(24)
_TOP, _TOP_WEIGHTS = (1 + _TOP) / 2, _TOP_WEIGHTS / 2
_BEYOND, _BEYOND_WEIGHTS = np.polynomial.legendre.leggauss(64)
_BEYOND = (1 + _BEYOND) / 2
# The fourth powers of these nodes are close together at 0, where the nearest of many keys are.
_BEYOND_WEIGHTS = _BEYOND_WEIGHTS / 2 * 4 * _BEYOND**3
_SPHERE_LOG = np.linspace(-16.0, 4.0, 161)


def _cosines(share: Array, d: int) -> Array:
    """Return the cosine that this share of the sphere exceeds."""
    cap = scipy.special.betaincinv((d - 1) / 2, 0.5, 2 * np.minimum(share, 1 - share))
    return np.where(share < 0.5, 1, -1) * np.sqrt(1 - cap)


def mean_of_largest(keys: int, d: int, factor: float) -> float:
    """Return the mean of the largest weight, integrated."""
    # The others' exponentials over its own sum to T, and E 1/(1 + T) is ∫ e^(-t) E e^(-tT) dt.
    nearest = 1 - _TOP ** (1 / keys)
    others = nearest[:, None] + (1 - nearest[:, None]) * _BEYOND**4
    terms = np.exp(factor * (_cosines(others, d) - _cosines(nearest, d)[:, None]))
    at = np.exp(_SPHERE_LOG)
    of_key = np.exp(-at[:, None, None] * terms) @ _BEYOND_WEIGHTS
    inner = np.trapezoid((at * np.exp(-at))[:, None] * of_key ** (keys - 1), _SPHERE_LOG, axis=0)
    return float(_TOP_WEIGHTS @ inner)


def growth_of_scale(d: int, few: int, many: int) -> float:
    """Return the power of the number of keys with which the scale grows that keeps the mean at 1/2."""
    scales = [
        scipy.optimize.brentq(
            lambda log, n=keys: mean_of_largest(n, d, math.exp(log)) - 0.5, 0.0, 20.0, xtol=1e-4
        )
        for keys in (few, many)
    ]
    return (scales[1] - scales[0]) / math.log(many / few)
