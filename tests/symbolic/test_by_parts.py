"""Expectations over normal scores by parts: what holds, and that one per cent more or less does not."""

from __future__ import annotations

from typing import Any

import pytest
from sympy import Rational, S, Sum, exp, log, sqrt
from verify.symbolic.kernel.by_parts import EVEN_IS_MOST, TOTAL_GROWS, ByParts, LargestScore

from verify.symbolic.kernel.moments import E
from verify.symbolic.kernel.words import largest, n, p, s, sigma
from verify.symbolic.row_means import row_mean
from verify.symbolic.softmax import ENTROPY, LOG_TOTAL, SQUARES, WEIGHTED_SCORE, i, j

REST = 1 - E(SQUARES)
MORE = Rational(101, 100)
STEPS: dict[str, tuple[Any, Any, Any, str]] = {
    "stein": (ByParts(p[j]), REST, E(WEIGHTED_SCORE) / sigma**2, "="),
    "entropy": (ByParts(sigma**2 * p[j]), E(ENTROPY), E(LOG_TOTAL) - sigma**2 * REST, "="),
    "total": (TOTAL_GROWS, E(LOG_TOTAL) - sigma**2 * REST, log(n) - sigma**2 * REST / 2, "≥"),
    "largest": (LargestScore(), E(largest) / sigma**2, sqrt(2 * log(n)) / sigma, "≤"),
    "less": (LargestScore("≥"), 1 - E(largest) / sigma**2, 1 - sqrt(2 * log(n)) / sigma, "≥"),
    "even": (EVEN_IS_MOST, E(ENTROPY), log(n), "≤"),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_holds_and_one_per_cent_off_it_does_not(name: str) -> None:
    """Neither in its constants nor as a whole."""
    check, before, after, _ = STEPS[name]
    assert check.holds(before, after)
    for wrong in (after * MORE, after / MORE, after.subs(sigma, sigma * MORE), -after):
        if wrong != after:
            assert not check.holds(before, wrong)


@pytest.mark.parametrize("name", [name for name, step in STEPS.items() if step[3] != "="])
def test_the_bounds_hold_by_integration(name: str) -> None:
    """At a few numbers of keys and deviations, by one-dimensional integrals."""
    _, before, after, relation = STEPS[name]
    for keys in (2, 16, 1000):
        for deviation in (0.5, 2.0, 8.0):
            gap = row_mean(after - before, keys, deviation)
            assert (gap.value if relation == "≤" else -gap.value) > gap.error


@pytest.mark.parametrize(
    ("check", "before", "after"),
    [
        pytest.param(TOTAL_GROWS, -E(LOG_TOTAL), -log(n) - sigma**2 * REST / 2, id="the wrong way round"),
        pytest.param(
            LargestScore("≤"), 1 - E(largest) / sigma**2, 1 - sqrt(2 * log(n)) / sigma, id="falling"
        ),
        pytest.param(LargestScore(), E(largest) ** 2, 2 * sigma**2 * log(n), id="not linear"),
        pytest.param(EVEN_IS_MOST, E(LOG_TOTAL), log(n), id="not the entropy"),
    ],
)
def test_what_does_not_follow_is_refused(check: Any, before: Any, after: Any) -> None:
    """A bound in the wrong direction, and fields for which nothing vanishes at infinity."""
    assert not check.holds(before, after)


@pytest.mark.parametrize("field", [exp(s[j] ** 2), 1 / s[j], s[j] ** Rational(1, 2)])
def test_fields_that_do_not_vanish_at_infinity_are_refused(field: Any) -> None:
    """However well the sides differ by their divergence, whose mean need not be 0; a tame one's is."""

    def divergence(one: Any) -> Any:
        return E(Sum(one.diff(s[j]) - s[j] * one / sigma**2, (j, 1, n)))

    assert ByParts(s[j] ** 3).holds(divergence(s[j] ** 3), S.Zero)
    assert not ByParts(field).holds(divergence(field), S.Zero)


def test_the_field_may_hold_sums() -> None:
    """F_j = p_j·Σp²: E[Σ s_j F_j] = σ²·E Σ∂F_j/∂s_j, against integration."""
    field = p[j] * SQUARES
    before = E(WEIGHTED_SCORE * SQUARES) / sigma**2
    after = row_mean(before, 3, 1.0).value
    cubes = Sum(p[i] ** 3, (i, 1, n))
    known = E((1 - SQUARES) * SQUARES + 2 * (cubes - SQUARES**2))
    assert ByParts(-field).holds(before, known)
    assert row_mean(known, 3, 1.0).value == pytest.approx(after, rel=1e-9)
