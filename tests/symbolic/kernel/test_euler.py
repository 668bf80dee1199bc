"""Euler's integrals: against numerical integration, where they converge, and steps that take them."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate
from sympy import Gt, Integral, S, Symbol, exp, gamma, lambdify, oo, symbols

from tests.strategies import examples
from tests.symbolic.kernel.proving import proved, refused
from verify.symbolic.kernel.core import prove
from verify.symbolic.kernel.hypotheses import NOTHING, Refused
from verify.symbolic.kernel.integrals import EulerIntegrals, euler
from verify.symbolic.kernel.words import n, p

a, b, c, r, u, x, y = symbols("a b c r u x y", positive=True)
real = Symbol("z", real=True)

SIZES = st.floats(0.6, 4.0)
GAMMAS = {power: 3 * x ** (a - 1) * exp(2 - r * x**power) for power in (1, 2, 3)}
BETA = x ** (a - 1) / (u + c * x) ** (a + b)


def both(integrand: Any, *parameters: Any) -> tuple[Any, Any]:
    """Return an integral and the integral taken numerically, as functions of the parameters."""
    inside = lambdify((x, *parameters), integrand)

    def numerically(*values: float) -> float:
        return float(integrate.quad(inside, 0, math.inf, args=values)[0])

    return lambdify(parameters, euler(integrand, x)[0], "scipy"), numerically


OF_GAMMAS = {power: both(integrand, a, r) for power, integrand in GAMMAS.items()}
OF_BETA = both(BETA, a, b, c, u)


@examples(40)
@given(SIZES, SIZES, st.sampled_from(list(GAMMAS)))
def test_a_gamma_integral_is_what_is_integrated(order: float, rate: float, power: int) -> None:
    """For any power in the exponent, with a constant there and one before it."""
    exact, numerically = OF_GAMMAS[power]
    assert exact(order, rate) == pytest.approx(numerically(order, rate), rel=1e-6)


@examples(40)
@given(st.tuples(SIZES, SIZES, SIZES, SIZES))
def test_a_beta_integral_is_what_is_integrated(values: tuple[float, ...]) -> None:
    """For any straight line to a power in the denominator."""
    exact, numerically = OF_BETA
    assert exact(*values) == pytest.approx(numerically(*values), rel=1e-5)


@pytest.mark.parametrize(
    "integrand",
    [
        exp(-x - x**2),
        exp(x),
        exp(-x) / (1 + x),
        x / (1 + x) ** 2,
        x**x * exp(-x),
    ],
)
def test_what_is_none_of_them_is_refused(integrand: Any) -> None:
    """Other forms, and those that diverge; nothing is guessed."""
    with pytest.raises((Refused, ValueError)):
        prove(EulerIntegrals(x), Integral(integrand, (x, 0, oo)), S.One)


def test_where_it_converges() -> None:
    """What is not known to be positive, and must be, becomes a hypothesis; what is not refuses the step."""
    found = prove(EulerIntegrals(x), Integral(exp(-real * x), (x, 0, oo)), 1 / real)
    assert found.hypotheses.domain(real) == NOTHING.having(Gt(real, 0)).domain(real)
    found = prove(EulerIntegrals(x), Integral(exp(-(a - b) * x), (x, 0, oo)), 1 / (a - b))
    assert Gt(a - b, 0) in found.hypotheses.conditions
    below = NOTHING.having(Gt(1 - real, 0)).having(Gt(real, 0))
    known = prove(EulerIntegrals(x), Integral(x ** (-real) * exp(-x), (x, 0, oo)), gamma(1 - real), below)
    assert known.hypotheses == below
    refused(EulerIntegrals(x), Integral(exp(b * x), (x, 0, oo)), -1 / b)
    of_entry = prove(EulerIntegrals(x), Integral(exp((p[1] - 2) * x), (x, 0, oo)), 1 / (2 - p[1]))
    assert Gt(2 - p[1], 0) in of_entry.hypotheses.conditions
    proved(EulerIntegrals(x), Integral(x**n * exp(-x), (x, 0, oo)), gamma(n + 1))
