"""The characteristic function, against numerical integration that shares nothing with it."""

from __future__ import annotations

import math

import pytest
from scipy import integrate, special

from verify.symbolic.characteristic import OF_ONE_PRODUCT, t


@pytest.mark.parametrize("at", [0.25, 1.0, 3.0])
def test_of_one_product_against_the_density(at: float) -> None:
    """The product of two normals has density K₀(|x|)/π; its cosine transform is the function."""
    value, error = integrate.quad(
        lambda u: 2 * math.cos(at * u) * special.k0(u) / math.pi, 0, 60, limit=400, epsabs=1e-11
    )
    assert abs(value - float(OF_ONE_PRODUCT.subs(t, at))) <= 10 * error + 1e-9
