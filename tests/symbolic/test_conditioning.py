"""Means where functions of some families are given: the others' moments are put in, and theirs stay."""

from typing import Any

import pytest
from sympy import Abs, Rational, S, exp, sqrt

from tests.symbolic.lines import refused
from verify.symbolic.calculus import NotDerived
from verify.symbolic.checks import moments
from verify.symbolic.calculus import conditional
from verify.symbolic.vocabulary import STANDARD, Cov, Dot, E, Entropy, Family, Largest, Law, Softmax
from verify.symbolic.vocabulary import Var, a, d, e, j, k, l, m, n, over_keys, q, s, score, squares
from verify.symbolic.vocabulary import v

CENTRED = {v: Law("mean 0 and variance 1", (S.One, S.Zero, S.One))}
MASK = Family("z", m, n)
KEPT = {**CENTRED, MASK: Law("one in four is dropped", (S.One, *[Rational(3, 4)] * 2))}
p = Softmax(score / sqrt(d), j)
LENGTH = Dot(q, a, q, a)
OUTPUT, DROPPED = over_keys(p * v[j, e]), over_keys(p * MASK[a, j] * v[j, e]) * 4 / 3


@pytest.mark.parametrize(
    ("before", "after", "laws", "wrong"),
    [
        (E(OUTPUT**2), E(squares(score / sqrt(d))), CENTRED, E(over_keys(p))),
        (Var(OUTPUT), E(squares(score / sqrt(d))), CENTRED, n * E(squares(score / sqrt(d)))),
        (E((DROPPED - OUTPUT) ** 2) / E(OUTPUT**2), Rational(1, 3), KEPT, Rational(1, 4)),
        (Cov(DROPPED - OUTPUT, OUTPUT), S.Zero, KEPT, S.One),
        (E(exp(s[a, j]) * v[l, e] ** 2), E(exp(s[a, j])), CENTRED, S.One),
        (sqrt(E(LENGTH * OUTPUT**2)), sqrt(E(LENGTH * squares(score / sqrt(d)))), CENTRED, S.One),
        (E(Abs(s[a, j]) * q[a, 1] * k[j, 1]), S.Zero, STANDARD, E(Abs(s[a, j]))),
        (E(Largest(p, j) * MASK[a, 1] * MASK[a, 2]), E(Largest(p, j)) * 9 / 16, KEPT, E(Largest(p, j))),
    ],
)
def test_what_is_given_stays_in_its_mean(before: Any, after: Any, laws: Any, wrong: Any) -> None:
    """Moments of the others are put in; another value is not accepted."""
    moments(laws).decide(before, after, "=")
    for value in (wrong, 2 * after + int(after == 0)):
        assert refused(moments(laws), before, value)


def test_a_family_in_a_function_is_given_everywhere() -> None:
    """A weight depends on its score, whose mean is not put in beside it."""
    assert refused(moments({s: CENTRED[v]}), E(Softmax(s[a, j], j) * s[a, j]), S.Zero)


def test_a_function_of_two_keys_is_left() -> None:
    """At one place it would be another function."""
    with pytest.raises(NotDerived, match="another place of its range"):
        conditional(E(over_keys(Entropy(s[a, j] - s[a, l], j) * v[l, e] ** 2, l)), CENTRED)
