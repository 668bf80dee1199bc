"""The chains that bound the Jacobian's norm: their ends against NumPy's norms, and wrong directions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sympy import Interval, Rational, oo

from verify.claims.gradients.shared.jacobian import LENGTH, value
from verify.claims.gradients.shared.jacobian_bounds import (
    BOUND,
    LEADING,
    SMALLEST,
    by_largest,
    by_row_sums,
    from_below,
    never_above_half,
    one_ahead,
    t,
)
from verify.montecarlo.attention import softmax
from verify.symbolic.derivation import Derivation
from verify.symbolic.kernel.core import NOTHING, Refused
from verify.symbolic.kernel.words import n, p


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


def test_one_key_ahead_rises_until_it_leads_by_all_others() -> None:
    """The norm by NumPy for 16 keys; its slope is 0 at t = n - 1."""
    for lead in (1, 4, 15, 225):
        weights = np.array([lead, *[1] * 15]) / (lead + 15)
        norm = np.linalg.norm(np.diag(weights) - np.outer(weights, weights), 2)
        assert float(LEADING.subs({n: 16, t: lead})) == pytest.approx(norm, rel=1e-12)
    slope = one_ahead()[-1].end.subs(n, 16)
    assert [np.sign(float(slope.subs(t, lead))) for lead in (14, 15, 16)] == [1, 0, -1]


def test_each_chain_is_proved() -> None:
    """For all values, with what they assume."""
    lemmas = (by_largest(), never_above_half(), *from_below(), *one_ahead())
    whole = Derivation.of(by_row_sums(), lemmas=lemmas)
    assert whole.examine().status == "proved"


def test_one_key_ahead_is_bounded_where_it_leads() -> None:
    """By a lead of at least 1, at which other directions are no longer than that of the first key."""
    above, reached, _ = one_ahead()
    assert above.proved().hypotheses.domain(t) == Interval(1, oo)
    assert reached.proved().relation == "="
    with pytest.raises(Refused):
        replace(above, under=NOTHING).proved()


def test_a_smaller_bound_is_not_accepted() -> None:
    """The rules notice a bound that is too small, and another value in a direction."""
    for route, end in (
        (by_row_sums(), BOUND * LENGTH * 99 / 100),
        (never_above_half(), Rational(49, 100)),
        (from_below()[0], SMALLEST * 101 / 100),
        (from_below()[1], p[1]),
        (one_ahead()[0], LEADING * 99 / 100),
        (one_ahead()[1], LEADING * 101 / 100),
    ):
        *steps, last = route.steps
        spoiled = replace(route, steps=(*steps, replace(last, expression=end)))
        with pytest.raises(Refused):
            spoiled.proved()
