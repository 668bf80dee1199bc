"""Mean squares of a row's gradients by integrals: their limits, and another way to one of them."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from scipy import integrate
from sympy import Gt, sqrt

from verify.claims.gradients.shared.row_gradients import (
    mean_square,
    mean_squares,
    of_small_scores,
    ratio_at_small_scores,
    ratio_of_roots,
)
from verify.symbolic.kernel.core import Reach
from verify.symbolic.scores import d


@pytest.mark.parametrize("keys", [2, 16])
def test_small_scores_leave_nearly_even_attention(keys: int) -> None:
    """Of no size at all, ‖J‖² is (n-1)/n² and Σp² is 1/n; at deviation 0.06 hardly more."""
    scale, squares = 0.02, (keys - 1) / keys**2
    assert mean_square("queries", keys, 9, scale).value == pytest.approx(9 * scale**2 * squares, rel=0.02)
    assert mean_square("keys", keys, 9, scale).value == pytest.approx(9 * scale**2 * squares, rel=0.02)
    assert mean_square("values", keys, 9, scale).value == pytest.approx(1 / keys, rel=0.005)


def test_two_keys_by_plain_integration() -> None:
    """Two keys in one dimension: the logistic function of the score's difference, integrated over both."""

    def slope(difference: float) -> float:
        return 1 / (2 + 2 * math.cosh(difference))

    def given(length: float) -> float:
        def inside(difference: float) -> float:
            weight = math.exp(-(difference**2) / 4) / math.sqrt(4 * math.pi)
            return float(weight * (slope(length * difference) * difference) ** 2)

        return float(integrate.quad(inside, -12, 12)[0])

    def of_length(length: float) -> float:
        return 2 * given(length) * math.sqrt(2 / math.pi) * math.exp(-(length**2) / 2)

    # Both upstream products count, and each moves both scores alike.
    expected = integrate.quad(of_length, 0, 8)[0]
    assert mean_square("queries", 2, 1, 1.0).value == pytest.approx(expected, rel=1e-5)


def test_one_scale_in_one_dimension() -> None:
    """With d = 1 the scale is 1: nothing is larger without it."""
    for path in ("queries", "keys", "values"):
        assert ratio_of_roots(path, 16, 1) == pytest.approx(1, rel=1e-12)


def test_ratios_grow_with_the_dimension_and_not_beyond_its_root() -> None:
    """Every path's gradient is larger without scaling; only small scores reach the whole root."""
    for path in ("queries", "keys", "values"):
        found = [ratio_of_roots(path, 16, one) for one in (4, 16)]
        assert 1 < found[0] < found[1] < 4.1


def test_errors_are_small() -> None:
    """Integrals say how far they may be off."""
    one = mean_square("queries", 16, 64, 1.0)
    assert 0 < one.error < 1e-5 * one.value


def test_a_wrong_mean_square_fails() -> None:
    """A flipped sign in any of the three is not the average that the step says."""
    for route in mean_squares():
        (step,) = route.steps
        assert route.followed().theorem is not None
        wrong = replace(route, steps=(replace(step, expression=-step.expression),))
        assert wrong.followed().theorem is None


def test_the_limits_of_small_scores() -> None:
    """Are proved; the ratio where even attention sends something back."""
    assert of_small_scores().proved().reach is Reach.ALL_VALUES
    ratio = ratio_at_small_scores().proved()
    assert ratio.rhs == sqrt(d)
    (condition,) = ratio.hypotheses.conditions
    assert isinstance(condition, Gt)
