"""Integrals over rows of normal scores, and Gauss's rules: against drawing and other routes."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, special, stats

from tests.strategies import examples
from verify.montecarlo.operations import softmax
from verify.symbolic.row_integrals import Approximation, mean_beside_sink, mean_largest, mean_largest_weight
from verify.symbolic.row_integrals import mean_log_total, mean_product, of_lengths, over_lengths

KEYS = st.integers(2, 10**6)
DEVIATIONS = st.floats(0.1, 32.0)


def mean_squares(keys: int, deviation: float) -> Approximation:
    """Return E Σp²."""
    return mean_product(((2, 0),), keys, deviation)


@pytest.mark.parametrize(("keys", "deviation"), [(2, 32.0), (5, 0.1), (16, 4.0), (300, 1.0), (300, 16.0)])
def test_against_drawn_rows(keys: int, deviation: float) -> None:
    """Squares, logarithm of the total, and largest weight of drawn rows lie within six standard errors."""
    rows = 2_000_000 // (keys + 40)
    scores = deviation * np.random.default_rng(keys).normal(size=(rows, keys))
    p = softmax(scores)
    drawn: dict[Callable[[int, float], Approximation], Any] = {
        mean_squares: np.sum(p**2, axis=1),
        mean_log_total: np.log(np.exp(scores - scores.max(axis=1)[:, None]).sum(axis=1)) + scores.max(axis=1),
        mean_largest_weight: p.max(axis=1),
    }
    for mean, values in drawn.items():
        exact = mean(keys, deviation)
        allowed = 6 * values.std() / math.sqrt(rows) + exact.error
        assert abs(values.mean() - exact.value) < allowed, mean


@pytest.mark.parametrize(("keys", "sink"), [(1, -3.0), (4, 0.0), (64, 5.0)])
def test_beside_a_sink_as_in_drawn_rows(keys: int, sink: float) -> None:
    """The weight of the keys lies within six standard errors of drawn rows."""
    totals = np.exp(np.random.default_rng(keys).normal(size=(100_000, keys))).sum(axis=1)
    weights = totals / (totals + math.exp(sink))
    exact = mean_beside_sink(keys, 1.0, sink)
    assert abs(weights.mean() - exact.value) < 6 * weights.std() / 100_000**0.5 + exact.error


@given(keys=KEYS, deviation=DEVIATIONS)
@examples(15)
def test_stein_holds_within_the_errors(keys: int, deviation: float) -> None:
    """E Σ s·p = σ²(1 - E Σp²) between two unlike integrals, no matter how many keys or how spread."""
    inner, squares = mean_product(((1, 1),), keys, deviation), mean_squares(keys, deviation)
    gap = inner.value - deviation**2 * (1 - squares.value)
    assert abs(gap) <= inner.error + deviation**2 * (squares.error + 2**-52)
    assert inner.error < 1e-11 * max(1.0, inner.value)


def test_the_largest_of_few_and_of_many() -> None:
    """Known values for 2 and 3, the tails' integral for a million, and more keys than there are."""
    assert mean_largest(2).value == pytest.approx(1 / math.sqrt(math.pi), rel=1e-13)
    assert mean_largest(3).value == pytest.approx(1.5 / math.sqrt(math.pi), rel=1e-13)
    many = 10**6
    above = integrate.quad(lambda x: -math.expm1(many * stats.norm.logcdf(x)), 0, 12, points=(4.0, 5.0, 6.0))
    assert mean_largest(many).value == pytest.approx(above[0], rel=1e-8)
    assert mean_product(((1, 0), (1, 0), (1, 0)), 2, 1.0) == Approximation(0.0, 0.0)


@pytest.mark.parametrize(("dimension", "scale"), [(1, 1.0), (4, 0.5), (64, 1.0)])
def test_over_the_length_of_the_query(dimension: int, scale: float) -> None:
    """Two keys by SciPy's adaptive double integral over gap and length."""
    law = stats.chi(dimension)

    def given_length(length: float) -> float:
        def integrand(z: float) -> float:
            p = 1 / (1 + math.exp(-math.sqrt(2) * scale * length * z))
            return (p**2 + (1 - p) ** 2) * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)

        return 2 * float(integrate.quad(integrand, 0, 10, epsabs=1e-11)[0])

    top = float(law.isf(1e-13))
    expected = integrate.quad(lambda r: given_length(r) * law.pdf(r), 0, top, epsabs=1e-9)[0]
    mean = over_lengths(mean_squares, 2, dimension, scale)
    assert mean.value == pytest.approx(expected, abs=mean.error + 1e-9)
    assert mean.error < 1e-5


@given(dimension=st.integers(1, 3000), count=st.integers(2, 20))
@examples(30)
def test_moments_of_a_length_up_to_twice_the_nodes(dimension: int, count: int) -> None:
    """E |q|^p = 2^(p/2)·Γ((d+p)/2)/Γ(d/2) up to p = 2·count - 1, where the rule is exact."""
    nodes, weights = of_lengths(dimension, count)
    for power in {0, 1, 2, count, 2 * count - 1}:
        half = power / 2
        log = half * math.log(2) + special.gammaln(dimension / 2 + half) - special.gammaln(dimension / 2)
        relative = weights @ np.exp(power * np.log(nodes) - log)
        assert relative == pytest.approx(1.0, rel=1e-9 if power < count else 1e-6)
