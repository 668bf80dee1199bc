"""What theorems assume besides: plain conditions, none that are always true, and none left out."""

from typing import Any

import pytest
from sympy import Gt, Interval, Ne, Range, S, Sum, exp, gamma, log, oo, sqrt, symbols

from verify.symbolic.kernel.core import prove
from verify.symbolic.kernel.hypotheses import NOTHING, Hypotheses, Refused
from verify.symbolic.kernel.moments import Evaluation
from verify.symbolic.kernel.signs import Sign, where_defined
from verify.symbolic.kernel.sums import SumIdentity
from verify.symbolic.kernel.terms import Families
from verify.symbolic.kernel.words import E, n, p
from verify.symbolic.scores import STANDARD, d, q, score
from verify.symbolic.softmax import j

a, b = symbols("a b", positive=True)
r, x = symbols("r x", real=True)


@pytest.mark.parametrize(
    ("condition", "symbol", "domain"),
    [
        (Gt((d - 1) / (2 * d), 0), d, Range(2, oo)),
        (Ne(1 - 1 / d, 0), d, Range(2, oo)),
        (Gt(2 * sqrt(2) * sqrt(log(n)), 0), n, Range(2, oo)),
        (n >= 2, n, Range(2, oo)),
        (Gt(a * (x - 1) ** 3 / b, 0), x, Interval.open(1, oo)),
        (Ne(sqrt(1 - a), 0), a, Interval.open(0, 1).union(Interval.open(1, oo))),
        (Gt((a - 1) ** 2, 0), a, Interval.open(0, 1).union(Interval.open(1, oo))),
    ],
)
def test_conditions_become_plain(condition: Any, symbol: Any, domain: Any) -> None:
    """Without positive factors, roots, squares and logarithms, and as the domain of one symbol."""
    found = NOTHING.having(condition)
    assert found.domain(symbol) == domain
    assert not found.conditions


def test_conditions_that_are_not_understood_stay() -> None:
    """Such as one of two symbols, or with a denominator of either sign."""
    for condition in (Gt(x - r, 0), Gt((a - 1) / x, 0), Ne(log(a) + b, 0)):
        assert NOTHING.having(condition).conditions == {condition}


@pytest.mark.parametrize(
    "expression",
    [1 / (1 - exp(-n * a)), 1 / (exp(a) - 1), 1 / gamma(r**2 + 1), 1 / (1 - 1 / (1 + a)), 1 / E(r**2 + 1)],
)
def test_what_is_known_to_be_defined_needs_no_condition(expression: Any) -> None:
    """Exponentials of what is positive, gamma functions, and means of what is positive."""
    assert where_defined(expression, NOTHING) == NOTHING


def test_signs_of_exponentials_less_1() -> None:
    """That of the exponent, if it is known."""
    prove(Sign(strict=True), S.Zero, 1 - exp(-a))
    prove(Sign(), S.Zero, exp(x**2) - 1)
    for expression in (1 - exp(a), exp(x) - 1, 1 - exp(-x)):
        with pytest.raises(Refused):
            prove(Sign(), S.Zero, expression)


def test_denominators_of_moments_and_sums_are_not_0() -> None:
    """A condition where the moments do not say it."""
    kurtosis = E(score**4) / E(score**2) ** 2
    assert prove(Evaluation(STANDARD), kurtosis, kurtosis).hypotheses.conditions
    assumed = Hypotheses(law=STANDARD)
    assert not prove(Evaluation(STANDARD), kurtosis, kurtosis, assumed).hypotheses.conditions
    made = prove(SumIdentity(), Sum(p[j] / (1 - a), (j, 1, n)), 1 / (1 - a))
    assert 1 not in made.hypotheses.domain(a)
    rate = NOTHING.restricted(a, Interval.open(0, 1))
    drawn = SumIdentity(Families(variances={q: a * (1 - a)}))
    made = prove(drawn, E(q[1] ** 2) / (1 - a), a, rate)
    assert made.hypotheses.domain(a) == Interval.open(0, 1)
    assert not made.hypotheses.conditions
