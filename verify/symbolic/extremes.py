"""The largest of n standard normal variables: its mean, and how often the two largest tie."""

from __future__ import annotations

from typing import Any

from sympy import Float, Integral, Symbol, erf, exp, oo, pi, sqrt

from verify.symbolic.gauss import integrals
from verify.symbolic.kernel.equations import Unfolded
from verify.symbolic.kernel.transforms import LargestOfNormal
from verify.symbolic.kernel.words import E, Ordered, n, sigma
from verify.symbolic.kernel.words import largest as largest_score
from verify.symbolic.printing import function
from verify.symbolic.routes import Route, Step

z = Symbol("z", real=True)
"""A standard normal variable, to integrate over."""

NORMAL_DENSITY = exp(-(z**2) / 2) / sqrt(2 * pi)
BELOW = (1 + erf(z / sqrt(2))) / 2
LARGEST = Ordered("M_n", "M", real=True)
"""The mean of the largest of n standard normal variables."""

BY_DENSITY = Integral(n * z * NORMAL_DENSITY * BELOW ** (n - 1), (z, -oo, oo))
"""The same as an integral."""

TIES = n * (n - 1) * Integral(NORMAL_DENSITY**2 * BELOW ** (n - 2), (z, -oo, oo))
"""The density, at 0, of the gap between the two largest of n standard normal variables."""


def by_definition(factor: Any) -> Step:
    """Return the step that says of a multiple of the integral that it is one of ``LARGEST``."""
    return Step(
        factor * LARGEST,
        "The mean of the largest of n standard normal variables",
        Unfolded({LARGEST: BY_DENSITY}),
    )


def largest() -> Route:
    """Return what the mean of the largest of n standard normal variables is."""
    return Route(
        "The largest of n standard normal variables",
        E(largest_score) / sigma,
        (
            Step(BY_DENSITY, r"The largest is at most z with probability $\Phi(z)^n$", LargestOfNormal(z)),
            by_definition(1),
        ),
    ).defining("the mean of the largest of n normal scores, over their standard deviation")


def number(expression: Any, keys: int, deviation: float = 1.0) -> float:
    """Return what an expression of ``LARGEST`` or ``TIES`` is for a number of keys and a σ."""

    def value(integrand: Any, _: Any) -> Any:
        return Float(integrals(function((z,), integrand, "scipy"), (-12.0, 12.0), 1e-14)[0])

    by_density = expression.subs(LARGEST, BY_DENSITY).subs({n: keys, sigma: deviation})
    return float(by_density.replace(Integral, value))
