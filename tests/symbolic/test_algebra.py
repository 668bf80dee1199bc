"""What is identically zero is found so, and what is not is found not to be, quickly."""

from __future__ import annotations

from typing import Any

import pytest
from sympy import Function, Integral, S, Symbol, cos, cosh, exp, log, pi, sin, sinh, sqrt, symbols, tanh

from verify.symbolic import algebra
from verify.symbolic.kernel.algebra import differs_somewhere, is_zero, replaced, vanishes_in_exponentials
from verify.symbolic.kernel.moments import E

x, y = Symbol("x", positive=True), Symbol("y", real=True)
low = Symbol("z", negative=True)
n = Symbol("n", integer=True, positive=True)
half = Symbol("h", integer=False)
a, b = symbols("a b", commutative=False)


@pytest.mark.parametrize(
    "expression",
    [
        S.Zero,
        (x + y) ** 2 - x**2 - 2 * x * y - y**2,
        1 / x - 1 / (x + 1) - 1 / (x * (x + 1)),
        sin(x) ** 2 + cos(x) ** 2 - 1,
        sqrt(x**2) - x,
        log(x**2) - 2 * log(x),
        exp(x + y) - exp(x) * exp(y),
        (-1) ** (2 * n) - 1,
        sqrt(low**2) + low,
        sin(pi * n),
        (1 + cos(x)) ** n / (1 + cos(x)) - (1 + cos(x)) ** (n - 1),
    ],
)
def test_zero(expression: Any) -> None:
    """Equal sides are never separated by a number."""
    assert not differs_somewhere(expression)
    assert is_zero(expression)


@pytest.mark.parametrize(
    "expression",
    [
        S.One,
        x - y,
        x**2 - x,
        1 / x - 1 / (x + 1),
        sqrt(2) - S(1414213562373095) / 10**15,
        x ** (S(101) / 100) - x,
        exp(-x) * (1 - S(10) ** -9) - exp(-x),
        low + 1,
        Integral(exp(-x), (x, 0, 1)),
        sqrt(2) * (E(x) - E(-x)) / sqrt(pi),
        half - 1,
        a * b - b * a,
    ],
)
def test_not_zero(expression: Any) -> None:
    """Sides that differ, however little and whatever their symbols are."""
    assert not is_zero(expression)


@pytest.mark.parametrize(
    "rest",
    [
        (sqrt(x) + sqrt(1 - x)) ** 2 - 2 * sqrt(x) * sqrt(1 - x) - 1,
        (sqrt(1 + sqrt(x)) + y) ** 2 - 2 * y * sqrt(1 + sqrt(x)) - y**2 - 1 - sqrt(x),
        (1 + y**2) ** (S(4) / 3) * (1 - x) - (1 + y**2) ** (S(1) / 3) * (1 - x) * (1 + y**2),
        (sqrt(2) * x + y) ** 2 - 2 * x**2 - y * (2 * sqrt(2) * x + y),
        (sin(y) + cos(y)) ** 2 - 2 * sin(y) * cos(y) - 1,
        (x * sin(y)) ** 4 - x**4 * (1 - cos(y) ** 2) ** 2,
    ],
)
def test_roots_and_angles_are_put_in_for_what_they_are(rest: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without multiplying out or simplifying; what is left over is seen."""
    assert not is_zero(rest + x)
    assert not is_zero(rest * S(101) / 100 + x * y)
    monkeypatch.setattr(algebra, "differs_somewhere", lambda _: pytest.fail("it is 0 as a polynomial"))
    assert is_zero(rest)


@pytest.mark.parametrize(
    "expression", [low + 1, half - 1, Integral(x, (x, 0, 1)), Function("f")(x), (x - 11) * (x + 1), None]
)
def test_nothing_is_said_where_there_is_no_number(expression: Any) -> None:
    """Symbols that are no positive integers, integrals, unknown functions, and a zero that was hit."""
    assert not differs_somewhere(expression)


@pytest.mark.parametrize(
    ("expression", "vanishes"),
    [
        (sin(x + y) - sin(x) * cos(y) - cos(x) * sin(y), True),
        (sin(x + y) - sin(x) * cos(y) + cos(x) * sin(y), False),
        (tanh(x / 2) - sinh(x) / (1 + cosh(x)), True),
        (tanh(x / 2) - sinh(x) / (2 + cosh(x)), False),
        (exp(x) ** 2 - exp(2 * x), True),
    ],
)
def test_zero_in_exponentials(expression: Any, *, vanishes: bool) -> None:
    """Angles that add up and halves of them, whatever they are."""
    assert vanishes_in_exponentials(expression) is vanishes
    assert is_zero(expression) is vanishes


def test_the_outermost_of_a_kind_are_replaced() -> None:
    """With what is made of their arguments; an expression without any stays the same object."""
    assert replaced(E(x + E(y)) + 2 * E(y), E, lambda inside: inside**2) == (x + E(y)) ** 2 + 2 * y**2
    assert replaced(low, E, lambda inside: inside**2) is low
