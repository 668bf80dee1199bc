"""The chain that shows over how many of very many keys attention spreads: n·E Σp² tends to exp(σ²)."""

from __future__ import annotations

from typing import Any

from sympy import (
    Function,
    Integral,
    Limit,
    S,
    Sum,
    Symbol,
    diff,
    exp,
    expand,
    limit,
    log,
    oo,
    pi,
    sqrt,
    symbols,
)

from verify.symbolic.checks import by
from verify.symbolic.integrals import runs_over
from verify.symbolic.kernel.algebra import is_zero
from verify.symbolic.kernel.integrals import euler_integral
from verify.symbolic.kernel.sums import vanishes
from verify.symbolic.kernel.words import E, n, s, sigma
from verify.symbolic.routes import Route, Step
from verify.symbolic.softmax import SQUARES, i

t = Symbol("t", positive=True)
z = Symbol("z", real=True)
psi = Function("psi")
"""ψ(t) = E exp(-t·exp(s)), the Laplace transform of one exponential."""


def _for_many(of_n: Any) -> Any:
    """Return the limit for ever more keys, unevaluated."""
    return Limit(of_n, n, oo)


MANY = _for_many(n * E(SQUARES))
"""n over the effective number of very many keys."""

_LAPLACE = n**2 * Integral(t * psi(t).diff(t, 2) * psi(t) ** (n - 1), (t, 0, oo))


@by(r"SymPy: $1/Z^2 = \int t e^{-tZ}dt$, and the second derivative of $e^{-te^s}$")
def _laplace(before: Any, after: Any) -> bool:
    """One of n alike terms: p² is x²/Z², x² and e^(-tx) of its own key give ψ'', each other key gives ψ."""
    x, total = symbols("x Z", positive=True)
    weight = euler_integral(t * exp(-t * total), t) == total**-2
    own = diff(exp(-t * x), t, 2) == x**2 * exp(-t * x)
    alike = vanishes(SQUARES - Sum(exp(2 * s[i]), (i, 1, n)) / Sum(exp(s[i]), (i, 1, n)) ** 2)
    one_key = Integral(t * psi(t).diff(t, 2) * psi(t) ** (n - 1), (t, 0, oo))
    product = before.args[0].xreplace({E(SQUARES): n * one_key})
    return weight and own and alike and after == _for_many(product) and before.args[1:3] == (n, oo)


@by("SymPy: the integrand’s limit at $t = u/n$, its integral, and the convexity that dominates it")
def _large_numbers(before: Any, after: Any) -> bool:
    """With ψ = 1 - m₁t + O(t²) and ψ'' = m₂ + O(t) the integrand over u tends to u·m₂·exp(-m₁u).

    The limit may be taken inside: ψψ'' ≥ ψ'², so ln ψ is convex, ψ(t) ≤ ψ(1)^t for t ≤ 1 bounds the integrand
    there by an exponential of u, and for t ≥ 1 what is left falls as ψ(1)^n.
    """
    u, x, y, first, second = symbols("u x y m_1 m_2", positive=True)
    slack, bend = symbols("r r_2", real=True)
    (integral,) = before.atoms(Integral)
    factor, power = before.args[0] / integral, Symbol("power", positive=True)
    plain = integral.function.xreplace({psi(t).diff(t, 2): second + bend * t, psi(t) ** (n - 1): power})
    known = (n - 1) * log(1 - first * t + slack * t**2)
    inside = limit((factor * plain).subs(t, u / n) / n, n, oo) * exp(limit(known.subs(t, u / n), n, oo))
    found = euler_integral(inside.subs(power, 1), u)
    moments = {first: _mean_exponential(1), second: _mean_exponential(2)}
    convex = expand((x**2 + y**2) / 2 - x * y - (x - y) ** 2 / 2) == 0
    whole = runs_over(before, (t, 0, oo)) and before.args[1:3] == (n, oo)
    return convex and whole and bool(after == found.xreplace(moments))


def _mean_exponential(power: int) -> Any:
    return Integral(exp(power * sigma * z - z**2 / 2) / sqrt(2 * pi), (z, -oo, oo))


@by("SymPy completes the squares")
def _completes_the_square(before: Any, after: Any) -> bool:
    """Shift z so that no linear term is left; what remains is the normal density, whose integral is 1."""

    def value(function: Any, _: Any) -> Any:
        exponent = expand(log(function * sqrt(2 * pi)).expand(force=True))
        linear = exponent.coeff(z, 1)
        shifted = expand(exponent.subs(z, z + linear))
        if expand(shifted.subs(z, -z)) != shifted:
            return S.NaN
        half = euler_integral(exp(shifted - shifted.subs(z, 0)) / sqrt(2 * pi), z)
        return exp(shifted.subs(z, 0)) * 2 * half

    whole = runs_over(before, (z, -oo, oo))
    return whole and is_zero(before.replace(Integral, value) - after)


def for_many() -> Route:
    """Return the limit from an exact integral for any number of keys and the law of large numbers."""
    ratio = _mean_exponential(2) / _mean_exponential(1) ** 2
    return Route.of(
        "Many keys",
        MANY,
        Step(
            _for_many(_LAPLACE),
            r"Exact for every $n$: $1/Z^2 = \int t\,e^{-tZ}\,dt$ makes the keys independent, "
            r"$\psi(t) = \mathbb{E}\,e^{-t e^s}$",
            _laplace,
        ),
        Step(ratio, "Law of large numbers: numerator and squared denominator become means", _large_numbers),
        Step(exp(sigma**2), "Moments of the lognormal law", _completes_the_square),
    )
