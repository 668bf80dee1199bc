"""The convolved law of uniform components, against the inversion of its characteristic function."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from verify.claims.raw_scores.score_spread import LEVEL, _normal_point, _uniform_point

_MEAN = 1 / 4
"""Of one product of components from U(0, 1)."""


def inverted(dimension: int) -> float:
    """Return the 95% point above the mean by the Gil-Pelaez formula, which convolves nothing."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    x, w = (nodes + 1) / 2, weights / 2
    spread = (dimension * 7 / 144) ** 0.5
    step = 0.02 / spread
    t = (np.arange(2000) + 0.5) * step
    # E exp(itxy) given x is (exp(itx) - 1)/(itx).
    z = 1j * np.outer(t, x)
    centred = np.exp(dimension * (np.log((np.expm1(z) / z) @ w) - 1j * t * _MEAN))

    def excess(point: float) -> float:
        waves = np.imag(np.exp(-1j * t * point) * centred) / t
        return float(0.5 - waves.sum() * step / np.pi - LEVEL)

    return float(optimize.brentq(excess, spread, 2.5 * spread))


@pytest.mark.parametrize("dimension", [100, 1000])
def test_the_convolved_point_is_that_of_the_inverted_function(dimension: int) -> None:
    """Two numerical routes agree to five digits; a normal law in its place would not."""
    assert _uniform_point(dimension) == pytest.approx(inverted(dimension), rel=1e-5)
    normal = 1.6448536 * (dimension * 7 / 144) ** 0.5
    assert abs(normal / inverted(dimension) - 1) > 1e-3


def test_the_point_of_two_normal_components_is_laplace() -> None:
    """In two dimensions five in a hundred scores lie beyond log 10."""
    assert _normal_point(2) == pytest.approx(np.log(10), rel=1e-9)
