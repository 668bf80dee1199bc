"""The mean size stays between its bounds: each step to them fails with another expression in its place."""

from __future__ import annotations

from typing import Any

import pytest
from sympy import Rational, Symbol, sqrt

from tests.symbolic.kernel.proving import proved, refused
from verify.claims.raw_scores import score_magnitude as claim
from verify.symbolic.kernel.words import E
from verify.symbolic.scores import d

LENGTH = claim.LENGTH


@pytest.mark.parametrize(
    ("number", "wrong"),
    [
        pytest.param(0, sqrt(E(LENGTH)), id="the mean, not the mean square"),
        pytest.param(0, E(LENGTH**2), id="no root"),
        pytest.param(0, sqrt(E(Symbol("u") ** 2)), id="another variable"),
        pytest.param(1, d, id="the mean square itself"),
        pytest.param(1, sqrt(d + 1), id="another dimension"),
    ],
)
def test_a_wrong_step_to_the_bound_is_noticed(number: int, wrong: Any) -> None:
    """Each step of the length's bound fails with another expression in its place."""
    (bound,) = (one for one in claim.derive().lemmas if one.start == E(LENGTH))
    before = (bound.start, *(step.expression for step in bound.steps))[number]
    step = bound.steps[number]
    proved(step.rule, before, step.expression, relation="≤" if number == 0 else "=")
    refused(step.rule, before, wrong)


def test_both_bounds_are_theorems() -> None:
    """From above for the mean size, from below for its value, in every dimension."""
    *_, above, below = (one.proved() for one in claim.derive().lemmas)
    assert (above.relation, below.relation) == ("≤", "≤")
    for dimension in (1, 2, 3, 64):
        most, size, least = (float(one.subs(d, dimension)) for one in (above.rhs, below.rhs, below.lhs))
        assert least < size < most
        assert size / least < 1 + Rational(1, dimension)
