"""Quotients and exponentials that cancel are found 0, others and what is undefined are not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sympy import Function, Rational, S, cosh, exp, log, sin, sqrt, symbols

from verify.symbolic.kernel.quotients import is_zero_quotient

x, y = symbols("x y", real=True)
n = symbols("n", integer=True)
a, b = symbols("a b", commutative=False)
f = Function("f")(x)

ZERO = [
    1 / x - 1 / (x + 1) - 1 / (x * (x + 1)),
    (x**2 - y**2) / (x - y) - x - y,
    1 / (1 / x + 1 / y) - x * y / (x + y),
    exp(x) / (exp(x) + exp(y)) - 1 / (1 + exp(y - x)),
    exp(x / 2) ** 3 * (1 + exp(-x / 6)) - exp(4 * x / 3) - exp(3 * x / 2),
    exp(n * (x + 1)) * (1 + exp(-n)) - exp(n * x) * (1 + exp(n)),
    exp(2) / (exp(1) + 1) - exp(1) / (1 + exp(-1)),
    (1 - exp(-2 * x)) / (1 - exp(-x)) - 1 - exp(-x),
    f / (f + sin(y)) + sin(y) / (f + sin(y)) - 1,
    (sqrt(2) + x) / (x * y + sqrt(2) * y) - 1 / y,
]


@pytest.mark.parametrize("expression", ZERO)
def test_what_cancels_is_0(expression: Any) -> None:
    """Over a common denominator; with a hundredth more of one term it is not."""
    assert is_zero_quotient(expression)
    for place, one in enumerate(expression.args):
        others = expression.args[:place] + expression.args[place + 1 :]
        assert not is_zero_quotient(expression.func(one * Rational(101, 100), *others))


@pytest.mark.parametrize(
    "expression",
    [
        S.One,
        x,
        1 / x,
        exp(x) - exp(y),
        exp(x) - 1 - x,
        exp(x**2) - exp(x) ** 2,
        a * b - b * a,
        x / (x * (y + 1) - x * y - x),
        cosh(x) - exp(x) / 2 - exp(-x) / 2,
        log(x * y) - log(x) - log(y),
    ],
)
def test_what_does_not_cancel_is_not_0(expression: Any) -> None:
    """Nor what holds by other relations, or divides by 0."""
    assert not is_zero_quotient(expression)


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.integers(-4, 4)), min_size=1, max_size=4)
)
def test_sums_of_fractions_agree_with_their_own_parts(terms: list[tuple[int, int, int]]) -> None:
    """A sum of quotients less each of them is 0, and less all but something is not."""
    parts = [(one + exp(x)) / (y**2 + exp(other * x) + 1) + third * exp(-y) for one, other, third in terms]
    whole = sum(one * (1 + y) for one in parts)
    rest = whole / (1 + y) - sum(parts)
    assert rest == 0 or is_zero_quotient(rest)
    assert not is_zero_quotient(rest + exp(-x) / 1000)
