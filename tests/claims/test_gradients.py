"""Derivations of the chapter on gradients: values, bounds and limits by a second way."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate
from sympy import Gt, Interval, oo, sqrt

from tests.symbolic.all_scores import mean_over_scores
from verify.claims.gradients.shared.jacobian import (
    LENGTH,
    by_largest,
    by_row_sums,
    from_below,
    never_above_half,
    one_ahead,
    t,
    value,
)
from verify.claims.gradients.shared.row_gradients import (
    mean_square,
    of_small_scores,
    ratio_at_small_scores,
)
from verify.claims.gradients.shared.saturation import identity, inverse_length, lemmas, limit, of_two_keys
from verify.montecarlo.attention import softmax
from verify.symbolic.derivation import Derivation
from verify.symbolic.extremes import number
from verify.symbolic.kernel.core import Reach
from verify.symbolic.kernel.hypotheses import NOTHING, Refused
from verify.symbolic.scores import d


@pytest.mark.parametrize("size", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("keys", [2, 5, 20])
def test_the_ends_bound_the_norm(keys: int, size: float) -> None:
    """Both upper and both lower bounds hold for random rows of any spread."""
    first, second = from_below()
    for seed in range(20):
        weights = -np.sort(-softmax(size * np.random.default_rng(seed).normal(size=keys)))
        norm = np.linalg.norm(np.diag(weights) - np.outer(weights, weights), 2)
        upper = (by_row_sums().end / LENGTH, by_largest().end / LENGTH, never_above_half().end)
        assert all(norm <= value(bound, weights) + 1e-15 for bound in upper)
        assert all(norm >= value(bound, weights) - 1e-15 for bound in (first.end, second.end))


def test_one_key_ahead_is_bounded_where_it_leads() -> None:
    """By a lead of at least 1, at which other directions are no longer than that of the first key."""
    above, reached, _ = one_ahead()
    assert above.proved().hypotheses.domain(t) == Interval(1, oo)
    assert reached.proved().relation == "="
    with pytest.raises(Refused):
        replace(above, under=NOTHING).proved()


def test_so_are_the_bounds_that_the_limit_lies_between() -> None:
    """The lower one tends to the limit from below."""
    for one in lemmas():
        assert Derivation.of(one).examine().status == "proved"
    low, high = (number(one, 16, 1e8) for one in (lemmas()[-1].end, limit().end))
    assert 0.99 * high < low < high


@pytest.mark.parametrize("deviation", [0.5, 3.0])
def test_the_identity_holds_beyond_what_the_check_tries(deviation: float) -> None:
    """Three keys and other deviations; twice the right side is noticed."""
    known = identity()
    sides = (mean_over_scores(side, 3, deviation) for side in (known.start, known.end))
    one, other = sides
    assert one == pytest.approx(other, rel=1e-6)
    assert one != pytest.approx(2 * other, rel=1e-6)


@pytest.mark.parametrize(("dimension", "scale"), [(1, 1.0), (4, 0.5), (16, 1.0), (64, 0.125)])
def test_two_keys_by_a_double_integral(dimension: int, scale: float) -> None:
    """The mean over gap and length by SciPy's adaptive rule, with the slope of the logistic function."""
    below = 2 ** (dimension / 2 - 1) * math.gamma(dimension / 2) * math.sqrt(2 * math.pi)

    def integrand(score: float, length: float) -> float:
        odds = math.exp(-math.sqrt(2) * scale * length * score)
        density = length ** (dimension - 1) * math.exp(-(length**2) / 2 - score**2 / 2) / below
        return 4 * (odds / (1 + odds) ** 2) ** 2 * density

    top = math.sqrt(dimension) + 7
    expected, _ = integrate.dblquad(integrand, 0, top, 0, 9, epsabs=1e-7)
    assert of_two_keys(dimension, scale) == pytest.approx(2 * expected, abs=1e-4)


def test_one_over_the_length_by_simulation() -> None:
    """The mean of one over the length of a query of eight components."""
    lengths = np.linalg.norm(np.random.default_rng(1).normal(size=(100_000, 8)), axis=1)
    assert float(inverse_length().end.subs(d, 8)) == pytest.approx(np.mean(1 / lengths), rel=0.01)


@pytest.mark.parametrize("keys", [2, 16])
def test_small_scores_leave_nearly_even_attention(keys: int) -> None:
    """Of no size at all, ‖J‖² is (n-1)/n² and Σp² is 1/n; at deviation 0.06 hardly more."""
    scale, squares = 0.02, (keys - 1) / keys**2
    assert mean_square("queries", keys, 9, scale).value == pytest.approx(9 * scale**2 * squares, rel=0.02)
    assert mean_square("keys", keys, 9, scale).value == pytest.approx(9 * scale**2 * squares, rel=0.02)
    assert mean_square("values", keys, 9, scale).value == pytest.approx(1 / keys, rel=0.005)


def test_the_limits_of_small_scores() -> None:
    """Are proved; the ratio where even attention sends something back."""
    assert of_small_scores().proved().reach is Reach.ALL_VALUES
    ratio = ratio_at_small_scores().proved()
    assert ratio.rhs == sqrt(d)
    (condition,) = ratio.hypotheses.conditions
    assert isinstance(condition, Gt)
