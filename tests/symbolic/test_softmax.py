"""Softmax with symbolic n: what its checks accept, and what they do not let through."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import integrate
from sympy import Sum

from tests.symbolic.all_scores import mean_over_scores
from verify.symbolic.kernel.algebra import is_zero
from verify.symbolic.kernel.words import E, n, p, s, sigma
from verify.symbolic.softmax import i, scores, written_out

SQUARES = Sum(p[i] ** 2, (i, 1, n))
INNER = E(Sum(p[i] * s[i], (i, 1, n)))
STEIN = sigma**2 * (1 - E(SQUARES))


@pytest.mark.parametrize("keys", [2, 3, 5])
def test_probabilities_are_the_softmax_of_the_scores(keys: int) -> None:
    """Written out, p is exp(s)/Σexp(s), and the sum of all is 1."""
    values = np.linspace(-1, 2, keys)
    at = dict(zip(scores(keys), values, strict=True))
    expected = np.exp(values) / np.exp(values).sum()
    assert [float(written_out(p[key], keys).subs(at)) for key in range(1, keys + 1)] == pytest.approx(
        expected
    )
    assert is_zero(written_out(Sum(p[i], (i, 1, n)), keys) - 1)


@pytest.mark.parametrize(
    ("after", "holds"),
    [(1 - SQUARES, True), (1 - SQUARES / 2, False), (1 - Sum(p[i] ** 3, (i, 1, n)), False)],
)
def test_written_out_separates_right_from_wrong(after: Any, holds: bool) -> None:
    """Σp(1-p) = 1 - Σp², and no other thing."""
    before = Sum(p[i] * (1 - p[i]), (i, 1, n))
    assert all(is_zero(written_out(before - after, keys)) for keys in (2, 3)) is holds


@pytest.mark.parametrize("deviation", [0.5, 1.0, 2.0, 4.0])
def test_quadrature_against_adaptive_integration(deviation: float) -> None:
    """For two keys E p(1-p) is a one-dimensional integral over their difference, by another rule."""

    def integrand(z: float) -> float:
        odds = math.exp(-abs(math.sqrt(2) * deviation * z))
        return odds / (1 + odds) ** 2 * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)

    expected = 2 * integrate.quad(integrand, 0, 20, epsabs=1e-13)[0]
    assert mean_over_scores(E(p[1] * (1 - p[1])), 2, deviation) == pytest.approx(expected, abs=1e-8)


def test_integration_separates_right_from_wrong() -> None:
    """Stein's identity holds to nine digits; one part in a million is noticed."""
    for keys, deviation in ((2, 0.5), (3, 2.0)):
        inner, stein = (mean_over_scores(side, keys, deviation) for side in (INNER, STEIN))
        assert inner == pytest.approx(stein, rel=1e-9)
        assert inner != pytest.approx(stein * (1 + 1e-6), rel=1e-9)
