"""Softmax for any number of keys: what holds for every total of the exponentials holds for theirs."""

from __future__ import annotations

from typing import Any

import pytest
from sympy import S, Sum, Symbol, exp, log

from verify.symbolic.expectation import DerivationError
from verify.symbolic.softmax import WrittenOut, i, j, n, p, s
from verify.symbolic.total import WithTotal

a = Symbol("a", real=True)
TOTAL = Sum(exp(s[i]), (i, 1, n))


@pytest.mark.parametrize(
    ("before", "right", "wrong"),
    [
        (Sum(p[i], (i, 1, n)), S.One, S(2)),
        (p[1] / p[2], exp(s[1] - s[2]), exp(s[2] - s[1])),
        (log(p[1] / p[2]), s[1] - s[2], s[1] - 2 * s[2]),
        (exp(s[1] + a) / Sum(exp(s[j] + a), (j, 1, n)), p[1], p[2]),
        (exp(s[1] + a) / Sum(exp(s[j] + a), (j, 1, n)), p[1], exp(a) * p[1]),
        (Sum(3 * p[i] + exp(s[i]), (i, 1, n)), 3 + TOTAL, 3 + 2 * TOTAL),
    ],
)
def test_any_number_of_keys(before: Any, right: Any, wrong: Any) -> None:
    """Right steps hold and wrong ones do not, as they do written out for a few keys."""
    for check in (WithTotal(), WrittenOut((2, 3))):
        assert check.holds(before, right)
        assert not check.holds(before, wrong)


@pytest.mark.parametrize(
    "side",
    [
        Sum(p[i] ** 2, (i, 1, n)),
        Sum(exp(2 * s[i]), (i, 1, n)),
        Sum(s[i] * p[i], (i, 1, n)),
        Sum(exp(s[i]) * i, (i, 1, n)),
        Sum(exp(s[i]), (i, 2, n)),
        Sum(exp(s[i]), (i, 1, 3)),
        Sum(exp(s[i]) + 1, (i, 1, n)),
        s[i],
        p[i],
    ],
)
def test_other_sums_are_refused(side: Any) -> None:
    """Only the sum of all exponentials has a symbol; what is no multiple of it is not covered."""
    with pytest.raises(DerivationError, match=r"multiple of|more than single scores"):
        WithTotal().holds(side, side)


def test_its_label_says_how_far_it_reaches() -> None:
    """It is no check at examples."""
    assert WithTotal().reach == "general"
    assert "any number of keys" in WithTotal().label
