"""One-dimensional integrals over rows of normal scores: against drawing, other integrals and known values."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from tests.strategies import examples
from verify.montecarlo.attention import softmax
from verify.symbolic import row_integrals
from verify.symbolic.row_integrals import (
    Approximation,
    mean_beside_sink,
    mean_entropy,
    mean_jacobian,
    mean_largest,
    mean_largest_weight,
    mean_log_total,
    mean_lost,
    mean_product,
    mean_squares,
    over_lengths,
)

KEYS = st.integers(2, 10**6)
DEVIATIONS = st.floats(0.1, 32.0)


@pytest.mark.parametrize(("keys", "deviation"), [(2, 32.0), (5, 0.1), (16, 4.0), (300, 1.0), (300, 16.0)])
def test_against_drawn_rows(keys: int, deviation: float) -> None:
    """Squares, entropy, Jacobian and largest weight of drawn rows lie within six standard errors."""
    rows = 2_000_000 // (keys + 40)
    scores = deviation * np.random.default_rng(keys).normal(size=(rows, keys))
    p = softmax(scores)
    squares, cubes = np.sum(p**2, axis=1), np.sum(p**3, axis=1)
    drawn: dict[Callable[[int, float], Approximation], Any] = {
        mean_squares: squares,
        mean_entropy: -np.sum(p * np.log(np.where(p > 0, p, 1.0)), axis=1),
        mean_lost: np.log(keys) + np.sum(p * np.log(np.where(p > 0, p, 1.0)), axis=1),
        mean_jacobian: squares - 2 * cubes + squares**2,
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
    kept = totals / (totals + math.exp(sink))
    exact = mean_beside_sink(keys, 1.0, sink)
    assert abs(kept.mean() - exact.value) < 6 * kept.std() / 100_000**0.5 + exact.error


@given(keys=KEYS, deviation=DEVIATIONS)
@examples(15)
def test_stein_holds_within_the_errors(keys: int, deviation: float) -> None:
    """E Σ s·p = σ²(1 - E Σp²) between two unlike integrals, no matter how many keys or how spread."""
    inner, squares = mean_product(((1, 1),), keys, deviation), mean_squares(keys, deviation)
    gap = inner.value - deviation**2 * (1 - squares.value)
    assert abs(gap) <= inner.error + deviation**2 * (squares.error + 2**-52)
    assert inner.error < 1e-11 * max(1.0, inner.value)


@given(keys=KEYS, deviation=DEVIATIONS)
@examples(15)
def test_weights_sum_to_one_and_the_logarithm_needs_no_weights(keys: int, deviation: float) -> None:
    """E Σp = 1, E (Σp)² = 1 over equal and unequal keys, and E Σ p·ln Z = E ln Z by another integral."""
    one = mean_product(((1, 0),), keys, deviation)
    pairs = mean_product(((1, 0), (1, 0)), keys, deviation) + mean_squares(keys, deviation)
    assert abs(one.value - 1) <= one.error
    assert abs(pairs.value - 1) <= pairs.error
    weighted = mean_product(((1, 0),), keys, deviation, log_total=True)
    total = mean_log_total(keys, deviation)
    assert abs(weighted.value - total.value) <= weighted.error + total.error


def test_the_largest_of_few_and_of_many() -> None:
    """Known values for 2 and 3, the tails' integral for a million, and more keys than there are."""
    assert mean_largest(2).value == pytest.approx(1 / math.sqrt(math.pi), rel=1e-13)
    assert mean_largest(3).value == pytest.approx(1.5 / math.sqrt(math.pi), rel=1e-13)
    many = 10**6
    above = integrate.quad(lambda x: -math.expm1(many * stats.norm.logcdf(x)), 0, 12, points=(4.0, 5.0, 6.0))
    assert mean_largest(many).value == pytest.approx(above[0], rel=1e-8)
    assert mean_product(((1, 0), (1, 0), (1, 0)), 2, 1.0) == Approximation(0.0, 0.0)


def test_a_coarse_rule_shows_in_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """With steps too wide for the integrand the error is no longer small, and covers what is wrong."""
    exact = mean_squares(7, 1.5).value
    monkeypatch.setattr(row_integrals, "_RULES", ((1.1, 6.0), (1.5, 5.0)))
    coarse = row_integrals._mean_product.__wrapped__(((2, 0),), 7, 1.5, False)
    assert coarse.error > 1e-6
    assert abs(coarse.value - exact) < coarse.error


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
    found = over_lengths(mean_squares, 2, dimension, scale)
    assert found.value == pytest.approx(expected, abs=found.error + 1e-9)
    assert found.error < 1e-5
