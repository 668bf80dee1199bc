"""Rows of scores of keys that are uniform on a sphere, for one query on it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from verify.claims.newer.shared.rows import Rows
from verify.montecarlo.attention import largest, softmax
from verify.montecarlo.blocks import Settings
from verify.montecarlo.distributions import Array


@dataclass(frozen=True)
class SphereRows(Rows):
    """The largest weight of scores ``factor`` times the cosines of keys uniform on a sphere.

    The queries are all unit vectors of the coordinates and their opposites: each sees keys of the same law,
    and of many keys others are near each.
    """

    d: int
    factor: float
    names = ("largest",)
    rows = 1

    @property
    def maps(self) -> int:  # type: ignore[override]
        return self.d

    @property
    def settings(self) -> Settings:
        return *super().settings, ("queries", 2 * self.d), ("d_k", self.d), ("beta", self.factor)

    @property
    def scores(self) -> int:
        return 2 * self.coordinates

    def reduce(self, *drawn: Array) -> tuple[Array, ...]:
        """Return it of each row for each query."""
        scale = np.float32(self.factor) / np.sqrt(sum(one * one for one in drawn))
        signs = (scale, -scale)
        weights = [largest(softmax(one * sign)) for one in drawn for sign in signs]
        return (np.stack(weights, axis=-1),)


_TOP, _TOP_WEIGHTS = np.polynomial.legendre.leggauss(24)
_TOP, _TOP_WEIGHTS = (1 + _TOP) / 2, _TOP_WEIGHTS / 2
_BEYOND, _BEYOND_WEIGHTS = np.polynomial.legendre.leggauss(64)
_BEYOND = (1 + _BEYOND) / 2
_BEYOND_WEIGHTS = _BEYOND_WEIGHTS / 2 * 4 * _BEYOND**3
"""The fourth powers of these nodes are close together at 0, where the nearest of many keys are."""
_LOG = np.linspace(-16.0, 4.0, 161)


def _cosines(share: Array, d: int) -> Array:
    """Return the cosine that this share of the sphere exceeds."""
    cap = special.betaincinv((d - 1) / 2, 0.5, 2 * np.minimum(share, 1 - share))
    return np.where(share < 0.5, 1, -1) * np.sqrt(1 - cap)


def mean_of_largest(keys: int, d: int, factor: float) -> float:
    """Return the mean of ``SphereRows``: of E 1/(1 + T), which is ∫ e^(-t) E e^(-tT) dt, over the largest."""
    nearest = 1 - _TOP ** (1 / keys)
    others = nearest[:, None] + (1 - nearest[:, None]) * _BEYOND**4
    terms = np.exp(factor * (_cosines(others, d) - _cosines(nearest, d)[:, None]))
    at = np.exp(_LOG)
    of_one = np.exp(-at[:, None, None] * terms) @ _BEYOND_WEIGHTS
    inner = np.trapezoid((at * np.exp(-at))[:, None] * of_one ** (keys - 1), _LOG, axis=0)
    return float(_TOP_WEIGHTS @ inner)


def growth_of_scale(d: int, few: int, many: int) -> float:
    """Return the power of the number of keys with which the scale grows that keeps the mean at one half."""
    scales = [
        optimize.brentq(lambda log, n=keys: mean_of_largest(n, d, math.exp(log)) - 0.5, 0.0, 20.0, xtol=1e-4)
        for keys in (few, many)
    ]
    return (scales[1] - scales[0]) / math.log(many / few)
