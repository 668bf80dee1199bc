"""The Jacobian of softmax with symbolic n: its checker accepts what is so and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sympy import Integer, KroneckerDelta, Rational, S, Sum

from verify.montecarlo.attention import softmax
from verify.symbolic.jacobian import (
    CUBES,
    ENTRY,
    FORM,
    FROBENIUS,
    LENGTH,
    M,
    Surplus,
    value,
    weighted_out,
    x,
)
from verify.symbolic.softmax import SQUARES, i, j, n, p

VARIANCE = Sum(p[i] * x[i] ** 2, (i, 1, n)) - Sum(p[i] * x[i], (i, 1, n)) ** 2
BIASED = Sum(p[i] * x[i] ** 2, (i, 1, n))
MEAN_SQUARE = Sum(p[i] * x[i], (i, 1, n)) ** 2


def test_the_constants_are_those_of_the_matrix() -> None:
    """Trace, norm and quadratic form of diag(p) - ppᵀ as NumPy computes them."""
    rng = np.random.default_rng(1)
    weights = softmax(rng.normal(size=6))
    matrix = np.diag(weights) - np.outer(weights, weights)
    assert value(FROBENIUS, weights) == pytest.approx(np.linalg.norm(matrix) ** 2, rel=1e-12)
    assert value(1 - SQUARES, weights) == pytest.approx(np.trace(matrix), rel=1e-12)
    assert value(p[2] * CUBES, weights) == pytest.approx(weights[1] * np.sum(weights**3), rel=1e-12)
    assert Surplus(relation="=").holds(FORM, VARIANCE)
    assert Surplus(relation="=").holds(Sum(ENTRY**2, (i, 1, n), (j, 1, n)), FROBENIUS)


@pytest.mark.parametrize(
    ("surplus", "relation", "before", "after", "holds"),
    [
        pytest.param(MEAN_SQUARE, "≤", VARIANCE, BIASED, True, id="a square more"),
        pytest.param(MEAN_SQUARE, "≥", BIASED, VARIANCE, True, id="a square less"),
        pytest.param(MEAN_SQUARE, "≥", VARIANCE, BIASED, False, id="the wrong way round"),
        pytest.param(-MEAN_SQUARE, "≤", BIASED, VARIANCE, False, id="a surplus that is negative"),
        pytest.param(2 * MEAN_SQUARE, "≤", VARIANCE, BIASED, False, id="another surplus"),
        pytest.param(S.Zero, "≤", VARIANCE, BIASED, False, id="no surplus"),
        pytest.param(S.Zero, "=", VARIANCE, BIASED, False, id="not the same"),
        pytest.param(x[1], "≤", S.Zero, x[1], False, id="any real number may be negative"),
    ],
)
def test_a_bound_needs_its_surplus(surplus: Any, relation: Any, before: Any, after: Any, holds: bool) -> None:
    """The sides must differ by just the surplus, and that must visibly not be negative."""
    assert Surplus(surplus, relation).holds(before, after) is holds


def test_only_ordered_probabilities_have_a_largest() -> None:
    """p₁ ≥ p_i and p₁ ≥ p₂ ≥ the rest hold where the weights fall with the number, not otherwise."""
    surplus = Sum((p[1] - p[i]) * x[i] ** 2, (i, 1, n))
    assert Surplus(surplus, ordered=True).holds(BIASED, p[1] * LENGTH)
    assert not Surplus(surplus).holds(BIASED, p[1] * LENGTH)
    assert Surplus(p[2] - p[3], ordered=True, sizes=(3, 4)).holds(p[3], p[2])
    assert not Surplus(p[3] - p[2], ordered=True, sizes=(3, 4)).holds(p[2], p[3])
    assert not Surplus(p[1] - Rational(1, 2), ordered=True).holds(Rational(1, 2), p[1])


def test_only_a_bounded_vector_keeps_to_its_bound() -> None:
    """M² ≥ x_j² where x is bounded by M, and M²/2 is no bound."""
    at = ((j, 2),)
    gap = (M - x[j]) * (M + x[j])
    assert Surplus(gap, at=at, bounded=True).holds(x[j] ** 2, M**2)
    assert not Surplus(gap, at=at).holds(x[j] ** 2, M**2)
    half = M**2 / 2
    assert not Surplus(half - x[j] ** 2, at=at, bounded=True).holds(x[j] ** 2, half)


def test_a_bounded_vector_reaches_both_ends() -> None:
    """From -M to M: nothing tighter holds on either side, such as x_j ≥ 0, and entries vary on their own."""
    at = ((j, 2),)
    assert Surplus(M - x[j], at=at, bounded=True).holds(x[j], M)
    assert Surplus(M + x[j], at=at, bounded=True).holds(-M, x[j])
    for low, high in ((S.Zero, x[j]), (-M / 2, x[j]), (x[j], S.Zero), (x[j], M / 2), (x[1], x[j])):
        assert not Surplus(high - low, at=at, bounded=True).holds(low, high)


def test_sums_are_written_out_as_they_stand() -> None:
    """A Kronecker delta inside a double sum leaves the other terms alone; the weights sum to 1."""
    double = Sum((1 - KroneckerDelta(i, j)) * (x[i] + x[j]) ** 2, (i, 1, n), (j, 1, n))
    first, second = weighted_out(x[1], 2), weighted_out(x[2], 2)
    assert weighted_out(double, 2) == 2 * (first + second) ** 2
    assert weighted_out(Sum(p[i], (i, 1, n)), 4, ordered=True).simplify() == Integer(1)
    with pytest.raises(TypeError):
        weighted_out(Sum(p[i], (i, Rational(101, 100), n)), 4)


def test_labels_say_what_was_checked() -> None:
    """A bound's label speaks of the difference, an equation's of both sides."""
    assert "not negative" in Surplus(MEAN_SQUARE).label
    assert "both sides are the same" in Surplus(relation="=").label
    assert "n = 2…3" in Surplus(sizes=(2, 3)).label
