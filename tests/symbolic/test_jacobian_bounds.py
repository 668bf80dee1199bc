"""The chains that bound the Jacobian's norm: their ends against NumPy's norms, and wrong directions."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import Integer, S

from verify.montecarlo.attention import softmax
from verify.symbolic.derivation import Derivation
from verify.symbolic.jacobian import LENGTH, value
from verify.symbolic.jacobian_bounds import (
    BOUND,
    LEADING,
    by_largest,
    by_row_sums,
    from_below,
    never_above_half,
    one_ahead,
    t,
)
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
    slope = one_ahead().end.subs(n, 16)
    assert [np.sign(float(slope.subs(t, lead))) for lead in (14, 15, 16)] == [1, 0, -1]


def test_each_chain_holds() -> None:
    """Every step's own check accepts it."""
    lemmas = (by_largest(), never_above_half(), *from_below(), one_ahead())
    upper = by_row_sums()
    whole = Derivation(upper.start, upper.end, (upper,), lemmas, "≤")
    assert whole.examine().holds


def test_a_smaller_bound_is_not_accepted() -> None:
    """The checks notice a bound that is too small, and a lead that is no largest eigenvalue."""
    *_, last = by_row_sums().steps
    assert not last.check.holds(by_row_sums().steps[-2].expression, BOUND * LENGTH / 2)
    over, half = never_above_half().steps
    assert not over.check.holds(BOUND * LENGTH, BOUND / 2)
    assert not half.check.holds(BOUND, Integer(1) / 4)
    eigenvalue, *_ = one_ahead().steps
    assert not eigenvalue.check.holds(one_ahead().start, 1 / (t + n - 1))
    # An eigenvalue for every number of keys, but the smallest; and a bound of all of them, but none itself.
    assert not eigenvalue.check.holds(S.Zero, S.Zero)
    assert not eigenvalue.check.holds(p[1], t / (t + n - 1))
    direction, *_ = from_below()[0].steps
    assert not direction.check.holds(from_below()[0].start, S.One)
