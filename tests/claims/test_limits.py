"""The limits of the law: heavy tails, even dimensions, and the tail in half precision as a mixture."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats
from sympy import Sum, binomial, factorial

from tests.strategies import FALSE_ALARM
from verify.claims.limits import half_precision as claim
from verify.claims.limits.heavy_tails import DENSITY, _below, _transform, _upper, x
from verify.claims.limits.shared.even_dimensions import b, j, k, m, tail, value
from verify.symbolic.law import below
from verify.symbolic.printing import function


@pytest.mark.parametrize("t", [0.1, 0.5, 1.0, 3.0])
def test_the_transform_is_that_of_the_density(t: float) -> None:
    """Twice the cosine transform of the derived density, by weighted quadrature to infinity."""
    density = function((x,), DENSITY)
    low, _ = integrate.quad(lambda at: density(at) * math.cos(t * at), 0, 0.5, points=[1e-6, 1e-3])
    high, _ = integrate.quad(lambda at: density(at + 1e-12), 0.5, np.inf, weight="cos", wvar=t)
    assert _transform(t) == pytest.approx(2 * (low + high), abs=1e-6)


@pytest.mark.parametrize("point", [0.3, 1.0, 3.0, 10.0])
def test_one_product_has_the_derived_law(point: float) -> None:
    """Inverting the transform of a single product gives what integrating its density gives."""
    assert _below(1, point) == pytest.approx(1 - _upper(point), abs=2e-5)


def test_the_sum_is_that_of_64_products() -> None:
    """The shares of drawn sums below two points, by NumPy's Cauchy numbers, within their errors at 1e-6."""
    rng = np.random.default_rng(20170612)
    sums = (rng.standard_cauchy((20_000, 64)) * rng.standard_cauchy((20_000, 64))).sum(axis=1)
    for point in (10.0, 80.0):
        share = float(np.mean(sums <= -point))
        error = math.sqrt(share * (1 - share) / len(sums))
        assert abs(share - _below(64, point)) <= stats.norm.isf(FALSE_ALARM / 4) * error


ROUTE = tail()


@pytest.mark.parametrize("dimension", [2, 4, 16, 64])
@pytest.mark.parametrize("above", [0.5, 4.0, 30.0])
def test_the_sum_is_the_mixture(dimension: int, above: float) -> None:
    """The mixture of normal tails over the query's length shares no step with it."""
    found = value(ROUTE.end, {m: dimension // 2, b: above})
    assert found == pytest.approx(below(dimension, -above), rel=1e-4, abs=1e-15)


def test_inner_ends_depend_on_outer_indices() -> None:
    """As in plain loops; the order of the places does not matter."""
    total = Sum(binomial(k, j) / factorial(k), (j, 0, k), (k, 1, m))
    expected = sum(
        math.comb(one, other) / math.factorial(one) for one in range(1, 6) for other in range(one + 1)
    )
    assert value(total, {m: 5}) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("patterns", "floats", "largest"),
    [(np.uint16, np.float16, math.log(65504)), (np.uint32, np.float32, math.log(np.finfo(np.float32).max))],
)
def test_the_overflow_point_lies_next_to_the_logarithm_of_the_largest_number(
    patterns: Any, floats: Any, largest: float
) -> None:
    """The found number has a finite exponential, its upper neighbour has none; 65504 is half's largest."""
    found = floats(claim._overflow(patterns, floats))
    above = np.nextafter(found, floats(np.inf))
    with np.errstate(over="ignore"):
        assert np.isfinite(np.exp(found))
        assert not np.isfinite(np.exp(above))
    assert abs(float(found) - largest) <= float(above - found)
    assert float(np.finfo(np.float16).max) == claim.LARGEST
