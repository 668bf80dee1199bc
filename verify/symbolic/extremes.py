"""The largest of n standard normal variables: its mean, and how often the two largest tie."""

from __future__ import annotations

from typing import Any

from sympy import Float, Integral, Symbol, diff, erf, exp, oo, pi, sqrt

from verify.symbolic.checks import By
from verify.symbolic.gauss import integrals
from verify.symbolic.integrals import runs_over
from verify.symbolic.kernel.algebra import is_zero
from verify.symbolic.kernel.words import Ordered, n, sigma
from verify.symbolic.predict import function
from verify.symbolic.routes import Route, Step

z = Symbol("z", real=True)
"""A standard normal variable, to integrate over."""

NORMAL_DENSITY = exp(-(z**2) / 2) / sqrt(2 * pi)
BELOW = (1 + erf(z / sqrt(2))) / 2
LARGEST = Ordered("M_n", "M", positive=True)
"""The mean of the largest of n standard normal variables."""

BY_DENSITY = Integral(n * z * NORMAL_DENSITY * BELOW ** (n - 1), (z, -oo, oo))
"""The same as an integral."""

TIES = n * (n - 1) * Integral(NORMAL_DENSITY**2 * BELOW ** (n - 2), (z, -oo, oo))
"""The density, at 0, of the gap between the two largest of n standard normal variables."""


def largest() -> Route:
    """Return what the mean of the largest of n standard normal variables is."""
    return Route(
        "The largest of n standard normal variables",
        LARGEST,
        (
            Step(
                BY_DENSITY,
                r"The largest is at most z with probability $\Phi(z)^n$",
                By("SymPy differentiates that probability", _is_mean_largest),
            ),
        ),
    ).defining("the mean of the largest of n standard normal variables")


def number(expression: Any, keys: int, deviation: float = 1.0) -> float:
    """Return what an expression of ``LARGEST`` or ``TIES`` is for so many keys and this σ."""

    def value(integrand: Any, _: Any) -> Any:
        return Float(integrals(function((z,), integrand, "scipy"), (-12.0, 12.0), 1e-14)[0])

    by_density = expression.subs(LARGEST, BY_DENSITY).subs({n: keys, sigma: deviation})
    return float(by_density.replace(Integral, value))


def _is_mean_largest(before: Any, after: Any) -> bool:
    """The density of the largest is the derivative of the probability that all n are at most z."""
    (integral,) = after.atoms(Integral)
    density = diff(BELOW**n, z)
    of_one = is_zero(diff(BELOW, z) - NORMAL_DENSITY) and BELOW.subs(z, -oo) == 0
    whole = runs_over(after, (z, -oo, oo)) and after == integral
    return before == LARGEST and of_one and whole and is_zero(integral.function - z * density)
