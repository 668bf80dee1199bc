"""Bounds over any number of keys: the check accepts what is so and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from sympy import KroneckerDelta, Rational, S, Sum

from verify.symbolic.jacobian import LENGTH
from verify.symbolic.kernel.moments import E
from verify.symbolic.kernel.surplus import Surplus
from verify.symbolic.kernel.words import M, largest, n, p, s, sigma, x
from verify.symbolic.softmax import SQUARES, WEIGHTED_SCORE, i, j

VARIANCE = Sum(p[i] * x[i] ** 2, (i, 1, n)) - Sum(p[i] * x[i], (i, 1, n)) ** 2
BIASED = Sum(p[i] * x[i] ** 2, (i, 1, n))
MEAN_SQUARE = Sum(p[i] * x[i], (i, 1, n)) ** 2


@pytest.mark.parametrize(
    ("surplus", "relation", "before", "after", "holds"),
    [
        pytest.param(MEAN_SQUARE, "≤", VARIANCE, BIASED, True, id="a square more"),
        pytest.param(MEAN_SQUARE, "≥", BIASED, VARIANCE, True, id="a square less"),
        pytest.param(MEAN_SQUARE, "≥", VARIANCE, BIASED, False, id="the wrong way round"),
        pytest.param(-MEAN_SQUARE, "≤", BIASED, VARIANCE, False, id="a surplus that is negative"),
        pytest.param(2 * MEAN_SQUARE, "≤", VARIANCE, BIASED, False, id="another surplus"),
        pytest.param(S.Zero, "≤", VARIANCE, BIASED, False, id="no surplus"),
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
    assert Surplus(p[2] - p[3], ordered=True).holds(p[3], p[2])
    assert not Surplus(p[3] - p[2], ordered=True).holds(p[2], p[3])
    assert not Surplus(p[1] - Rational(1, 2), ordered=True).holds(Rational(1, 2), p[1])


def test_only_a_bounded_vector_keeps_to_its_bound() -> None:
    """M² ≥ x_j² where x is bounded by M, and M²/2 is no bound."""
    gap = (M - x[j]) * (M + x[j])
    assert Surplus(gap, bounded=True).holds(x[j] ** 2, M**2)
    assert not Surplus(gap).holds(x[j] ** 2, M**2)
    half = M**2 / 2
    assert not Surplus(half - x[j] ** 2, bounded=True).holds(x[j] ** 2, half)


def test_a_bounded_vector_reaches_both_ends() -> None:
    """From -M to M: nothing tighter holds on either side, such as x_j ≥ 0, and entries vary on their own."""
    assert Surplus(M - x[j], bounded=True).holds(x[j], M)
    assert Surplus(M + x[j], bounded=True).holds(-M, x[j])
    for low, high in ((S.Zero, x[j]), (-M / 2, x[j]), (x[j], S.Zero), (x[j], M / 2), (x[1], x[j])):
        assert not Surplus(high - low, bounded=True).holds(low, high)


def test_bounds_of_what_is_averaged_are_bounds_of_means() -> None:
    """A mean of scores is below their largest; one per cent less is not, nor is a square of a mean a mean."""
    below = Sum(p[j] * (largest - s[j]), (j, 1, n))
    assert Surplus(below).holds(E(WEIGHTED_SCORE), E(largest))
    assert not Surplus(below).holds(E(WEIGHTED_SCORE), E(largest) * Rational(99, 100))
    assert not Surplus(-below).holds(E(largest), E(WEIGHTED_SCORE))
    less = sigma**2 * E(SQUARES) / 2
    assert Surplus(less, "≥").holds(sigma**2 * E(SQUARES), less)
    with pytest.raises(Exception, match="not linear"):
        Surplus(E(SQUARES) ** 2).holds(S.Zero, E(SQUARES) ** 2)


def test_every_pair_of_keys_is_looked_at() -> None:
    """Alike, different, the first and the second: a term that is negative for one choice only is found."""
    apart = Sum((1 - KroneckerDelta(i, j)) * p[i] * p[j], (i, 1, n), (j, 1, n))
    assert Surplus(apart).holds(S.Zero, 1 - SQUARES)
    same, first = KroneckerDelta(i, j), KroneckerDelta(i, 1)
    for hidden in (same, first, KroneckerDelta(i, 2) * KroneckerDelta(j, 1), 1 - same, 1 - first):
        term = Sum(p[i] * p[j] * (1 - 2 * hidden), (i, 1, n), (j, 1, n))
        assert not Surplus(p[1] + p[2] + term).holds(S.Zero, p[1] + p[2] + term)
    nested = Sum(p[i] * Sum((1 - 2 * KroneckerDelta(i, j)) * p[j], (j, 1, n)), (i, 1, n))
    assert not Surplus(nested).holds(S.Zero, nested)


def test_the_label_says_what_was_checked() -> None:
    """It speaks of any number of keys, and the check covers that."""
    assert "any number of keys" in Surplus(MEAN_SQUARE).label
    assert Surplus(MEAN_SQUARE).reach == "general"
