"""The normal form of sums over any number of keys: what it takes as equal is, and slips are not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import Derivative, Idx, KroneckerDelta, Rational, S, Sum, Symbol, exp, log, simplify

from tests.faults.spoiling import spoiled
from verify.symbolic.jacobian import CUBES, ENTRY, FORM, FROBENIUS
from verify.symbolic.kernel.moments import DerivationError, E
from verify.symbolic.kernel.sums import SumIdentity, normal_form, vanishes
from verify.symbolic.kernel.terms import Families, in_scores
from verify.symbolic.kernel.words import n, p, s, x
from verify.symbolic.softmax import ENTROPY, LOG_TOTAL, SQUARES, WEIGHTED_SCORE, i, j, scores, written_out

k = Idx("k")
a = Symbol("a", real=True)
TOTAL = Sum(exp(s[k]), (k, 1, n))
IDENTITIES = {
    "probabilities sum to 1": (Sum(p[i], (i, 1, n)), S.One),
    "a row of the Jacobian": (Sum(ENTRY, (j, 1, n)), S.Zero),
    "its squared norm": (Sum(ENTRY**2, (i, 1, n), (j, 1, n)), FROBENIUS),
    "a quadratic form": (FORM, Sum(p[i] * (x[i] - Sum(p[j] * x[j], (j, 1, n))) ** 2, (i, 1, n))),
    "the softmax's derivative": (Derivative(exp(s[i]) / TOTAL, s[j]), ENTRY),
    "by the logarithm": (p[i] * Derivative(s[i] - log(TOTAL), s[j]), ENTRY),
    "entropy": (ENTROPY, LOG_TOTAL - WEIGHTED_SCORE),
    "a constant summed": (Sum(p[i] + 2, (i, 1, n)), 2 * n + 1),
    "a ratio": (p[1] / (p[1] + p[2]), exp(s[1]) / (exp(s[1]) + exp(s[2]))),
    "a shift": (Sum(exp(s[i] - s[1]), (i, 1, n)) * p[1], S.One),
    "weights over each other": (p[1] / p[2], exp(s[1] - s[2])),
    "odds": (log(p[1] / p[2]), s[1] - s[2]),
    "a common shift": (exp(s[1] + a) / Sum(exp(s[j] + a), (j, 1, n)), p[1]),
    "a sum of both": (Sum(3 * p[i] + exp(s[i]), (i, 1, n)), 3 + TOTAL),
    "an index as a number": (Sum(i * p[i], (i, 1, n), (j, 1, n)), n * Sum(j * p[j], (j, 1, n))),
    "a direction": (Sum((KroneckerDelta(i, 1) - 1 / n) ** 2, (i, 1, n)), 1 - 1 / n),
}


@pytest.mark.parametrize("name", IDENTITIES)
def test_identities_hold_and_no_spoiled_one_does(name: str) -> None:
    """Every one holds; with any one place of its right side changed, by one per cent too, it does not."""
    before, after = IDENTITIES[name]
    assert SumIdentity().holds(before, after)
    for how, wrong in spoiled(after, (before,)):
        try:
            found = SumIdentity().holds(before, wrong)
        except (DerivationError, ValueError, TypeError):
            continue
        assert not found, how


@pytest.mark.parametrize("name", sorted(IDENTITIES.keys() - {"the softmax's derivative", "by the logarithm"}))
def test_what_is_equal_for_any_number_is_so_for_three(name: str) -> None:
    """Written out for three keys and rational numbers, without the normal form."""
    sides = (written_out(side.subs({i: 2, j: 3}), 3) for side in IDENTITIES[name])
    numbers = dict(zip(scores(3), map(Rational, ("1/3", "-2/5", "7/4")), strict=True))
    entries = {x[key]: Rational(key**2 - 3, 2) for key in (1, 2, 3)}
    one, other = (side.subs(numbers | entries | {a: Rational(2, 7)}).evalf(30) for side in sides)
    assert abs(one - other) < 1e-25


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(-3, 3), min_size=4, max_size=4), st.integers(2, 4))
def test_the_normal_form_keeps_the_value(factors: list[int], keys: int) -> None:
    """A random sum of products vanishes with symbolic n only if it does written out."""
    parts = (SQUARES**2, CUBES, Sum(p[i] ** 2 * (1 - p[j]), (i, 1, n), (j, 1, n)), p[1] * SQUARES)
    expression = sum(factor * part for factor, part in zip(factors, parts, strict=True))
    values = {one: log(place + 2) for place, one in enumerate(scores(keys))}
    assert not vanishes(expression) or simplify(written_out(expression, keys).subs(values)) == 0
    assert vanishes(expression - expression.expand())


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param(Sum(p[i], (i, 2, n)), id="begins at two"),
        pytest.param(Sum(p[i], (i, 1, n + 1)), id="one too many"),
        pytest.param(Sum(p[i], (i, 1, Symbol("m"))), id="another size"),
        pytest.param(Sum(x[i + 1], (i, 1, n)), id="shifted"),
        pytest.param(x[0], id="no such entry"),
        pytest.param(Sum(1 / (1 + x[i]), (i, 1, n)), id="one over several terms"),
        pytest.param(Sum(x[i] ** Rational(1, 2), (i, 1, n)), id="a root"),
        pytest.param(log(SQUARES), id="the logarithm of a sum"),
    ],
)
def test_what_has_no_normal_form_is_refused(expression: Any) -> None:
    """Rather than taken for something else."""
    with pytest.raises(DerivationError):
        normal_form(expression)


def test_averages_are_over_independent_entries_with_mean_zero() -> None:
    """Of the second order at most; over what is averaged has to be said."""
    average = Families(variances={x: S(4)})
    assert vanishes(E(Sum(p[i] * x[i], (i, 1, n)) ** 2) - 4 * SQUARES, average)
    assert vanishes(E(x[i] * x[j]) - 4 * KroneckerDelta(i, j), average)
    assert vanishes(E(p[1] * x[1]), average)
    assert not vanishes(E(x[1] ** 2) - S(404) / 100, average)
    with pytest.raises(DerivationError, match="beyond the second"):
        vanishes(E(x[1] ** 4), average)
    assert SumIdentity().holds(E(ENTROPY), E(LOG_TOTAL) - E(WEIGHTED_SCORE))
    with pytest.raises(DerivationError, match="not linear"):
        SumIdentity().holds(E(SQUARES) ** 2, E(SQUARES))


def test_deltas_need_indices_over_the_same_values() -> None:
    """One that picks a term of a sum over something else is refused."""
    rows = Families(sizes={x: (Symbol("m"),)})
    with pytest.raises(DerivationError, match="same values"):
        normal_form(Sum(KroneckerDelta(i, j) * p[i], (i, 1, n)) * x[j], rows)


def test_probabilities_are_functions_of_the_scores() -> None:
    """So that they can be differentiated."""
    assert vanishes(Derivative(in_scores(SQUARES), s[1]) - 2 * p[1] * (p[1] - SQUARES))
    assert "any number of keys" in SumIdentity().label
