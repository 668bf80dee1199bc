"""Integrals by a formula, cut in two, and exchanged; and slips in each."""

import math
from typing import Any

import pytest
from scipy import integrate
from sympy import (
    Abs, Integral, Min, Rational, S, Sum, Symbol, besselk, binomial, cos, erf, exp,
    factorial, gamma, lambdify, oo, pi, sign, sqrt, symbols,
)  # fmt: skip

from tests.symbolic.kernel.proving import proved, refused
from verify.symbolic.kernel.hypotheses import Hypotheses
from verify.symbolic.kernel.special_integrals import (
    BesselIntegrals, BinomialTheorem, Exchanged, GammaTail, GaussIntegrals, SplitAt,
)  # fmt: skip

MORE = Rational(101, 100)
a, b, p, r, x, w, u, v = symbols("a b p r x w u v", positive=True)
t, y, c = symbols("t y c", real=True)
k, j = (Symbol(name, integer=True, nonnegative=True) for name in "kj")
m = Symbol("m", integer=True, positive=True)


@pytest.mark.parametrize(
    ("rule", "whole", "value"),
    [
        pytest.param(GaussIntegrals(y), Integral(exp(-a * y**2 + c * y), (y, -oo, oo)),
                     sqrt(pi / a) * exp(c**2 / (4 * a)), id="Gauss"),
        pytest.param(GaussIntegrals(y), Integral(exp(-a * y**2) * cos(t * y), (y, -oo, oo)),
                     sqrt(pi / a) * exp(-(t**2) / (4 * a)), id="a cosine"),
        pytest.param(GaussIntegrals(y), Integral(exp(-a * y**2 + c * y), (y, b, oo)),
                     sqrt(pi / a) * exp(c**2 / (4 * a)) * (1 - erf(sqrt(a) * b - c / (2 * sqrt(a)))) / 2,
                     id="a tail"),
        pytest.param(BesselIntegrals(w), Integral(w ** (a - 1) * exp(-p * w - r / w), (w, 0, oo)),
                     2 * (r / p) ** (a / 2) * besselk(a, 2 * sqrt(p * r)), id="K"),
        pytest.param(BesselIntegrals(x), Integral(x ** (a + b - 1) * besselk(b, p * x), (x, 0, oo)),
                     2 ** (a + b - 2) * gamma(a / 2) * gamma(a / 2 + b) / p ** (a + b), id="of K"),
    ],
)  # fmt: skip
def test_a_formula_is_the_integral_and_one_per_cent_off_it_is_not(rule: Any, whole: Any, value: Any) -> None:
    """Against numerical integration at one place."""
    proved(rule, whole, value)
    refused(rule, whole, MORE * value)
    refused(rule, whole, value.subs(a, 2 * a))
    given = {a: 1.3, b: 0.7, p: 0.9, r: 0.4, c: 0.3, t: 0.8}
    inside = lambdify(whole.variables, whole.function.subs(given), ["scipy", "numpy"])
    low, high = (float(S(one).subs(given)) for one in whole.limits[0][1:])
    assert float(value.subs(given).evalf()) == pytest.approx(integrate.quad(inside, low, high)[0], rel=1e-6)


@pytest.mark.parametrize(
    ("rule", "whole"),
    [
        pytest.param(GaussIntegrals(y), Integral(exp(a * y**2), (y, -oo, oo)), id="grows"),
        pytest.param(GaussIntegrals(y), Integral(y * exp(-a * y**2), (y, -oo, oo)), id="a factor"),
        pytest.param(BesselIntegrals(w), Integral(exp(-p * w + r / w), (w, 0, oo)), id="grows at 0"),
        pytest.param(BesselIntegrals(x), Integral(besselk(1, x), (x, 0, oo)), id="too steep at 0"),
    ],
)
def test_an_integral_without_a_formula_is_refused(rule: Any, whole: Any) -> None:
    """It does not converge, has another form or other ends."""
    refused(rule, whole, S.One)


def test_the_tail_of_a_gamma_number() -> None:
    """Of whole order alone."""
    tail = Integral(v ** (m - 1) * exp(-r * v) / gamma(m), (v, b, oo))
    value = exp(-r * b) / r**m * Sum((r * b) ** k / factorial(k), (k, 0, m - 1))
    proved(GammaTail(v, k), tail, value)
    refused(GammaTail(v, k), tail, MORE * value)
    refused(GammaTail(v, k), tail, value.subs(m, m + 1))
    refused(GammaTail(v, k), Integral(v ** (a - 1) * exp(-v), (v, b, oo)), value)
    refused(GammaTail(v, k), Integral(v ** (m - 1) * exp(-v), (v, c, oo)), value)
    refused(GammaTail(v, k), tail * b**k, value * b**k)
    at = {m: 3, r: 0.7, b: 1.2}
    expected = integrate.quad(lambda one: one**2 * math.exp(-0.7 * one) / 2, 1.2, math.inf)[0]
    assert float(value.subs(at).doit()) == pytest.approx(expected)


def test_a_range_is_cut_where_the_sign_changes() -> None:
    """Nothing else is, and no place outside it."""
    whole = Integral((1 + sign(y - b)) / 2 * exp(-(y**2)), (y, -oo, oo))
    proved(SplitAt(y, b), whole, Integral(exp(-(y**2)), (y, b, oo)))
    refused(SplitAt(y, b), whole, Integral(exp(-(y**2)), (y, 2 * b, oo)))
    refused(SplitAt(y, S.Zero), whole, Integral(exp(-(y**2)), (y, 0, oo)))
    size = Integral(Abs(y) * exp(-(y**2)), (y, -oo, oo))
    halves = Integral(-y * exp(-(y**2)), (y, -oo, 0)) + Integral(y * exp(-(y**2)), (y, 0, oo))
    proved(SplitAt(y, S.Zero), size, halves)
    refused(SplitAt(y, S.Zero), size, 2 * halves)
    least = Integral(Min(1, u / v), (v, 0, 1))
    cut = Integral(1, (v, 0, u)) + Integral(u / v, (v, u, 1))
    proved(SplitAt(v, u), least, cut, Hypotheses().having(1 - u > 0))
    assert "at most" in refused(SplitAt(v, u), least, cut)


def test_a_power_is_multiplied_out() -> None:
    """With its own binomial coefficients, and a free index."""
    terms = Sum(binomial(k, j) * b ** (k - j) * x**j, (j, 0, k))
    rule = BinomialTheorem((b + x) ** k, x, j)
    proved(rule, 3 * (b + x) ** k, 3 * terms)
    refused(rule, 3 * (b + x) ** k, 3 * terms.subs(b, 2 * b))
    refused(rule, j * (b + x) ** k, j * terms)
    refused(BinomialTheorem((b + x) ** a, x, j), (b + x) ** a, terms)


def test_sums_and_integrals_change_their_order() -> None:
    """Where nothing is negative; else only with the theorem that the rest is finite."""
    term = exp(-x) * x**j / factorial(k)
    proved(
        Exchanged(), Integral(Sum(term, (j, 0, k)), (x, 0, oo)), Sum(Integral(term, (x, 0, oo)), (j, 0, k))
    )
    refused(
        Exchanged(),
        Integral(Sum(term, (j, 0, k)), (x, 0, oo)),
        Sum(Integral(term, (x, 0, oo)), (j, 0, k + 1)),
    )
    refused(
        Exchanged(),
        Integral(Sum(term, (j, 0, k)), (x, 0, oo)),
        MORE * Sum(Integral(term, (x, 0, oo)), (j, 0, k)),
    )
    changing = (x - u) / (x + u) ** 3
    twice = Integral(Integral(changing, (x, 0, 1)) * 2, (u, 0, 1))
    assert "nowhere negative" in refused(Exchanged(), twice, Integral(2 * changing, (u, 0, 1), (x, 0, 1)))
