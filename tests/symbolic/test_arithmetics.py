"""Fractions, balls and floats agree where all of them can tell."""

from typing import Any

import numpy as np
import pytest
from flint import acb, arb, fmpq
from sympy import (
    Abs,
    Max,
    S,
    Symbol,
    besselk,
    binomial,
    erf,
    exp,
    factorial,
    gamma,
    log,
    pi,
    sign,
    sqrt,
    tanh,
)

from verify.symbolic.arithmetics import (
    BALLS,
    EXACT,
    FLOATS,
    Undefined,
    Unknown,
    fraction,
    rational,
    whole_power,
)
from verify.symbolic.balls import Scene, value

a = Symbol("a", positive=True)


@pytest.mark.parametrize(
    "expression",
    [
        a**3 - 2 / a, sqrt(a) * exp(-a), log(a) + tanh(a), erf(a) / gamma(a), Max(a, 2) - Abs(1 - a),
        sign(a - 3),
        factorial(a), pi * a, binomial(a, 2), besselk(1, a),
    ],
)  # fmt: skip
def test_a_ball_holds_what_sympy_says(expression: Any) -> None:
    """And floats are close to it, of those functions that they have."""
    at = Scene(values={a: fmpq(5, 2)})
    ball = value(expression, at)
    assert abs(float(ball.mid()) - float(expression.subs(a, S(5) / 2))) < 1e-12
    if not expression.has(binomial, besselk):
        assert np.isclose(value(expression, at.in_floats()), float(ball.mid()))


def test_polynomials_are_exact_in_fractions() -> None:
    """All else is refused there."""
    at = Scene(values={a: fmpq(1, 3)}, arithmetic=EXACT)
    assert value(a**2 + 1 / a, at) == fmpq(28, 9)
    with pytest.raises(Unknown):
        value(exp(a), at)


def test_what_has_no_value_is_undefined() -> None:
    """Not infinite, and no error of arithmetic."""
    at = Scene(values={a: fmpq(0)})
    for expression in (1 / a, log(a), gamma(a), 1 / sqrt(a)):
        with pytest.raises(Undefined):
            value(expression, at)


def test_roots_of_negative_numbers_are_complex() -> None:
    """As SymPy's are."""
    root = BALLS.power(arb(-4), arb(0.5), Scene())
    assert isinstance(root, acb)
    assert root.imag.contains(2)


def test_a_ball_around_zero_has_powers() -> None:
    """By products, for a power by logarithms has none."""
    assert whole_power(arb(0, 1), 2).is_finite()
    assert whole_power(arb(2), -3) == arb(0.125)


def test_numbers_come_and_go() -> None:
    """SymPy's rationals and fractions, and floats of either."""
    assert rational(fraction(S(22) / 7)) == S(22) / 7
    assert FLOATS.lift(fmpq(1, 4)) == 0.25
