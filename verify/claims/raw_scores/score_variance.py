"""Var(q·k) = d_k for independent, centred, unit-variance components."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sympy import I, Rational, S, diff, exp, integrate, limit, oo, pi, simplify, sqrt, symbols

from verify.claim import Claim
from verify.designs import coefficients, fact, prediction, quantities, score_cell, variance_figure
from verify.evidence import Assumption, Check, Fact, Figure, Reference
from verify.montecarlo.blocks import Cell
from verify.montecarlo.components import NORMAL
from verify.montecarlo.estimands import variance
from verify.montecarlo.experiment import Control, Experiment, Fit, Prediction, Quantity, Tolerance
from verify.montecarlo.scores import ScoreMatrices
from verify.symbolic.derivation import By, Derivation, Identity, Route, Step
from verify.symbolic.expectation import E, Var, evaluate
from verify.symbolic.scores import STANDARD, d, one_product, score, t, variance_route

if TYPE_CHECKING:
    from collections.abc import Mapping

DIMENSIONS = (1, 2, 3, 8, 64, 100, 512, 1000, 1024)
LABEL = r"$\operatorname{Var}(q\cdot k)$"
"""What is measured; the printed name of the quantity."""


def _characteristic_route() -> Route:
    """Return the second route: Gaussian components, by the characteristic function of the score."""
    x = symbols("x", real=True)
    density = exp(-(x**2) / 2) / sqrt(2 * pi)
    of_one = (1 + t**2) ** Rational(-1, 2)
    whole = (1 + t**2) ** (-d / 2)

    def inner_mean_is_gaussian(_: Any, after: Any) -> bool:
        # Given q = x, the product x·k is normal with variance x²; then average over x.
        given = integrate(exp(I * t * x * symbols("y", real=True)) * density.subs(x, symbols("y", real=True)),
                          (symbols("y", real=True), -oo, oo))
        averaged = integrate(exp(-(t**2) * x**2 / 2) * density, (x, -oo, oo))
        return bool(simplify(given - exp(-(t**2) * x**2 / 2)) == 0 and simplify(averaged - after) == 0)

    return Route(
        "Through the characteristic function, for Gaussian components",
        E(exp(I * t * one_product())),
        (
            Step(of_one, "One product: average over the key, then over the query",
                 By("SymPy integrates both averages", inner_mean_is_gaussian)),
            Step(whole, "Independent dimensions multiply",
                 By("SymPy: the logarithms differ by the factor d", lambda a, b: _is_power(a, b))),
            Step(-diff(whole, t, 2), "Minus the second derivative",
                 By("SymPy: integrating twice gives it back", lambda a, b: _integrates_back(a, b))),
            Step(-diff(whole, t, 2).subs(t, 0), "At t = 0; the first derivative vanishes there, so the mean is 0",
                 By("SymPy: both limits at t = 0", lambda a, b: _limit_at_zero(a, b, whole))),
        ),
    )
