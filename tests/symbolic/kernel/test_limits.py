"""Limits by continuity and between bounds, both sides times a factor: true ones, and what they refuse."""

from typing import Any

import pytest
from sympy import (
    Gt, IndexedBase, Interval, Limit, Ne, Rational, S, Sum, Symbol, exp, log, sqrt, symbols,
)  # fmt: skip

from tests.symbolic.kernel.proving import proved, refused
from verify.symbolic.kernel.calculus import Compared
from verify.symbolic.kernel.core import Theorem, prove
from verify.symbolic.kernel.equations import Turned, Unfolded
from verify.symbolic.kernel.hypotheses import NOTHING, Hypotheses
from verify.symbolic.kernel.limits import AtLimit, Between, TimesPositive
from verify.symbolic.kernel.words import E, n, s, sigma
from verify.symbolic.softmax import i, j

a, b, t, y = symbols("a b t y", positive=True)
r = Symbol("r", real=True)
g = IndexedBase("g")
TOTAL = Sum(exp(t * s[j]), (j, 1, n))


def _bound(lhs: Any, rhs: Any, relation: str = "≤", under: Hypotheses = NOTHING) -> Theorem:
    return prove(Compared(relation), lhs, rhs, under)


ABOVE, BELOW = _bound(a / (n + 1), a / n), _bound(a / (n + 1), S.Zero, "≥")
"""Two bounds of one quantity."""


def test_a_point_is_put_in_where_all_is_continuous() -> None:
    """Of exponentials over a total, a root, a logarithm; what may vanish below becomes a hypothesis."""
    proved(AtLimit(), Limit(exp(t * s[i]) / TOTAL, t, 0), 1 / Sum(S.One, (j, 1, n)))
    proved(AtLimit(), Limit(sqrt(t), t, 0), S.Zero)
    proved(AtLimit(), Limit(log(1 + t) / (1 + t), t, 0), S.Zero)
    over = proved(AtLimit(), Limit(1 / (r + t), t, 0), 1 / r)
    assert Ne(r, 0) in over.hypotheses.conditions or over.hypotheses.domain(r) != NOTHING.domain(r)
    root = proved(AtLimit(), Limit(sqrt(t + r) * t, t, 0), S.Zero)
    assert root.hypotheses.domain(r) == NOTHING.having(Gt(r, 0)).domain(r)


@pytest.mark.parametrize(
    ("limit", "value"),
    [
        (Limit((1 - exp(-t)) / t, t, 0), S.Zero),  # 0 below
        (Limit(exp(t), t, 0), Rational(101, 100)),
        (Limit(t + a, t, 0, "-"), a),  # t is positive
        (Limit(n / (n + 1), n, 3), Rational(3, 4)),  # whole numbers come to nothing
        (Limit(sigma * E(s[1] ** 2), sigma, 0), S.Zero),  # the law may depend on σ
        (Limit(Sum(1 / (t + g[i]), (i, 1, n)), t, 0), Sum(1 / g[i], (i, 1, n))),
    ],
)
def test_what_is_not_continuous_is_refused(limit: Any, value: Any) -> None:
    """Nor what is not known to be, what the variable does not come to, or another value."""
    refused(AtLimit(), limit, value)


def test_what_lies_between_two_bounds() -> None:
    """From both sides, whichever the chain has come to, and for large values only."""
    proved(Between(n, BELOW, ABOVE), S.Zero, S.Zero)
    proved(Between(n, ABOVE, BELOW), S.Zero, S.Zero)
    turned = prove(Turned(ABOVE), S.Zero, a / (n + 1))
    proved(Between(n, turned, BELOW), S.Zero, S.Zero)


def test_a_bound_for_large_values_is_enough() -> None:
    """Its condition is none of the limit; one that holds for small values only is refused."""
    late = prove(TimesPositive(1 / (n - a), _bound((n - a) / n, S.One)), S.Zero, 1 / (n - a))
    assert late.hypotheses.conditions == {Gt(n - a, 0)}
    found = proved(Between(n, _bound(1 / n, S.Zero, "≥"), late), S.Zero, S.Zero)
    assert found.hypotheses == NOTHING
    early = prove(TimesPositive(1 / (a - n), _bound((a - n) / n, a / n)), S.Zero, a / n / (a - n))
    refused(Between(n, _bound(1 / n, S.Zero, "≥"), early), S.Zero, S.Zero)
    refused(Between(n, late, _bound(1 / n, S.Zero, "≥")), S.Zero, S.Zero)


def test_a_bound_in_a_range_says_nothing_beyond() -> None:
    """Where the variable is bounded there are no large values of it."""
    within = NOTHING.restricted(t, Interval(1, 5))
    above, below = _bound(1 / (t + 1), 1 / t, "≤", within), _bound(1 / (t + 1), S.Zero, "≥", within)
    refused(Between(t, below, above), S.Zero, S.Zero)


def test_a_positive_factor() -> None:
    """Keeps the relation; one whose sign is open becomes a hypothesis, and a negative one is refused."""
    known = _bound(S.Zero, r**2)
    proved(TimesPositive(a, known), S.Zero, a * r**2, relation="≤")
    open_sign = proved(TimesPositive(1 / (a - b), known), S.Zero, r**2 / (a - b), relation="≤")
    assert open_sign.hypotheses.conditions == {Gt(a - b, 0)}
    refused(TimesPositive(a, known), S.Zero, Rational(101, 100) * a * r**2)
    refused(TimesPositive(S.NegativeOne, known), S.Zero, -(r**2))
    refused(TimesPositive(Symbol("z"), known), S.Zero, Symbol("z") * r**2)
    equal = prove(Unfolded({y: a}), y, a)
    proved(TimesPositive(b, equal), S.Zero, a * b)


def test_bounds_that_do_not_decide_are_refused() -> None:
    """Another limit, one side alone, another quantity, another variable."""
    refused(Between(n, BELOW, ABOVE), S.Zero, Rational(1, 100))
    refused(Between(n, ABOVE, ABOVE), S.Zero, S.Zero)
    refused(Between(n, _bound(a / (n + 2), S.Zero, "≥"), ABOVE), S.Zero, S.Zero)
    refused(Between(n, BELOW, _bound(a / (n + 1), a)), S.Zero, S.Zero)
    refused(Between(a, BELOW, ABOVE), S.Zero, S.Zero)  # it grows with a
