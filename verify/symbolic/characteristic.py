"""The characteristic function of a score of Gaussian components: a route that shares no moment rule."""

from __future__ import annotations

from functools import cache
from typing import Any

from sympy import I, Rational, S, diff, exp, expand_log, log, pi, sqrt, symbols

from verify.symbolic.checks import By
from verify.symbolic.kernel.algebra import is_zero
from verify.symbolic.kernel.equations import same
from verify.symbolic.kernel.integrals import euler_integral
from verify.symbolic.kernel.words import E
from verify.symbolic.routes import Route, Step
from verify.symbolic.scores import d, one_product

t = symbols("t", real=True)
OF_ONE_PRODUCT = (1 + t**2) ** Rational(-1, 2)
OF_SCORE = (1 + t**2) ** (-d / 2)
"""E exp(i t q·k) for independent standard normal components."""

START = E(exp(I * t * one_product()))


@cache  # two claims take this step
def _averages_to(before: Any, after: Any) -> bool:
    """Average exp(i·a·y) over a normal key, then exp(-t²y²/2) over a normal query.

    The function F of a density with f' = -yf obeys F' = -aF, by parts, and F(0) = 1: it is exp(-a²/2).
    """
    a, y = symbols("a y", positive=True)  # both densities are even
    density = exp(-(y**2) / 2) / sqrt(2 * pi)
    of_key = exp(-(a**2) / 2)
    normal = diff(density, y) == -y * density and 2 * euler_integral(density, y) == S.One
    obeys = diff(of_key, a) == -a * of_key and of_key.subs(a, 0) == S.One
    averaged = 2 * euler_integral(of_key.subs(a, t * y) * density, y)
    return before == START and normal and obeys and same(averaged, after)


def _is_the_power(before: Any, after: Any) -> bool:
    ratio = expand_log(log(after), force=True) - d * expand_log(log(before), force=True)
    return is_zero(ratio)


STEPS = (
    Step(
        OF_ONE_PRODUCT,
        "One product: average over a normal key, then over a normal query",
        By("SymPy: a differential equation, then Euler’s integral", _averages_to),
    ),
    Step(
        OF_SCORE,
        "Independent dimensions multiply: the function of the score",
        By("SymPy: its logarithm is d times the one before", _is_the_power),
        relation="⇒",
    ),
)
"""From E exp(i t q_i k_i) to the characteristic function of the score."""


def route(title: str, *steps: Step) -> Route:
    """Return the chain from one product to the function of the score, and by more ``steps`` from there."""
    return Route.of(title, START, *STEPS, *steps).defining("the characteristic function of one product")
