"""The characteristic function, against numerical integration that shares nothing with it."""

import math

import numpy as np
import pytest
from scipy import integrate, special

from verify.symbolic.characteristic import OF_ONE_PRODUCT, OF_SCORE, START, route, t
from verify.symbolic.derivation import Derivation
from verify.symbolic.printing import function
from verify.symbolic.scores import d


@pytest.mark.parametrize("at", [0.25, 1.0, 3.0])
def test_of_one_product_against_the_density(at: float) -> None:
    """The product of two normals has density K₀(|x|)/π; its cosine transform is the function."""
    value, error = integrate.quad(
        lambda u: 2 * math.cos(at * u) * special.k0(u) / math.pi, 0, 60, limit=400, epsabs=1e-11
    )
    assert abs(value - float(OF_ONE_PRODUCT.subs(t, at))) <= 10 * error + 1e-9


@pytest.mark.parametrize(("n", "at"), [(2, 0.7), (5, 0.3)])
def test_of_a_score_against_the_law_of_a_query_length(n: int, at: float) -> None:
    """Given q the score is normal with variance |q|², a chi-square: average exp(-t²χ²/2) over it."""
    constant = 1 / (2 ** (n / 2) * math.gamma(n / 2))
    value, error = integrate.quad(
        lambda u: constant * u ** (n / 2 - 1) * math.exp(-u / 2 - at**2 * u / 2), 0, np.inf
    )
    assert abs(value - function((d, t), OF_SCORE)(n, at)) <= 10 * error + 1e-9


def test_the_route_is_proved() -> None:
    """From one product to the score."""
    found = Derivation.of(route("r"))
    assert found.examine().status == "proved"
    assert (found.subject, found.result) == (START, OF_SCORE)
