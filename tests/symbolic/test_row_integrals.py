"""One-dimensional integrals over rows of normal scores: against drawing, other integrals and known values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import integrate, stats

from verify.montecarlo.attention import softmax
from verify.symbolic.row_integrals import (
    Approximation,
    mean_beside_sink,
    mean_entropy,
    mean_jacobian,
    mean_largest_weight,
    mean_lost,
    mean_squares,
    over_lengths,
)

if TYPE_CHECKING:
    from collections.abc import Callable


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
