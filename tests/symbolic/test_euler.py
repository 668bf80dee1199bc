"""Euler's integrals, against numerical integration, and steps that take them."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate
from sympy import Integral, Rational, S, Symbol, exp, gamma, lambdify, oo, pi, sqrt, symbols
from verify.symbolic.kernel.euler import EulerIntegrals, SameGammas, euler_integral, same_products

from verify.symbolic.kernel.moments import DerivationError

a, b, c, r, u, x, y = symbols("a b c r u x y", positive=True)

SIZES = st.floats(0.6, 4.0)
GAMMAS = {power: 3 * x ** (a - 1) * exp(2 - r * x**power) for power in (1, 2, 3)}
BETA = x ** (a - 1) / (u + c * x) ** (a + b)


def both(integrand: Any, *parameters: Any) -> tuple[Any, Any]:
    """Return an integral and the integral taken numerically, as functions of the parameters."""
    inside = lambdify((x, *parameters), integrand)

    def numerically(*values: float) -> float:
        return float(integrate.quad(inside, 0, math.inf, args=values)[0])

    return lambdify(parameters, euler_integral(integrand, x), "scipy"), numerically


OF_GAMMAS = {power: both(integrand, a, r) for power, integrand in GAMMAS.items()}
OF_BETA = both(BETA, a, b, c, u)


@given(SIZES, SIZES, st.sampled_from(list(GAMMAS)))
def test_a_gamma_integral_is_what_is_integrated(order: float, rate: float, power: int) -> None:
    """For any power in the exponent, with a constant there and one before it."""
    exact, numerically = OF_GAMMAS[power]
    assert exact(order, rate) == pytest.approx(numerically(order, rate), rel=1e-6)


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
        x ** (-2) * exp(-x),
        exp(-x) / (1 + x),
        1 / (1 + x) ** 2 / (2 + x),
        x / (1 + x) ** 2,
        1 / (1 + x**2) ** 2,
        x**x * exp(-x),
        S.One,
    ],
)
def test_what_is_none_of_them_is_refused(integrand: Any) -> None:
    """Other forms, and those that diverge; nothing is guessed."""
    with pytest.raises((DerivationError, ValueError)):
        euler_integral(integrand, x)


def test_steps_over_several_variables() -> None:
    """Integrals are done wherever they stand; factors, parameters and ends count."""
    nested = Integral(2 * x ** (2 * a) * exp(-r * x**2) * exp(-y * u) * y, (x, 0, oo), (y, 0, oo))
    done = gamma(a + Rational(1, 2)) / r ** (a + Rational(1, 2)) / u**2
    assert EulerIntegrals(x, y).holds(nested, done)
    assert EulerIntegrals(x, y).holds(done, nested)
    assert EulerIntegrals(x).holds(nested, Integral(done * u**2 * y * exp(-y * u), (y, 0, oo)))
    assert not EulerIntegrals(x, y).holds(nested, 2 * done)
    assert not EulerIntegrals(x, y).holds(nested, done.subs(r, 2 * r))
    assert not EulerIntegrals(x).holds(nested, Integral(done * u**2 * y * exp(-y * u), (y, 1, oo)))
    assert not EulerIntegrals(x).holds(nested, done)
    with pytest.raises(DerivationError, match="from 0 to infinity"):
        EulerIntegrals(x).holds(Integral(exp(-x), (x, 1, oo)), S.One)


def test_gamma_functions_of_neighbours() -> None:
    """Γ(x + 1) is x Γ(x), and not (x + 1) Γ(x); sums in brackets may be written in many ways."""
    assert SameGammas().holds(gamma(a + 2) / gamma(a), a * (a + 1))
    assert not SameGammas().holds(gamma(a + 2) / gamma(a), a * (a + 2))
    assert SameGammas().holds(gamma(Rational(3, 2)), sqrt(pi) / 2)
    assert same_products((x + Rational(1, 2)) ** b * 2**b, (2 * x + 1) ** b)
    assert not same_products((x + Rational(1, 2)) ** b, (2 * x + 1) ** b)
    assert not same_products(Symbol("z", positive=True), S.One)
