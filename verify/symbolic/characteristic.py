"""The characteristic function of a score of Gaussian components: a route that shares no moment rule."""

from __future__ import annotations

from typing import Any

from sympy import I, Integral, Rational, S, Symbol, exp, oo, symbols

from verify.symbolic.kernel.laws import Given, normal_density
from verify.symbolic.kernel.special_integrals import GaussIntegrals
from verify.symbolic.kernel.transforms import Multiplied
from verify.symbolic.kernel.words import E
from verify.symbolic.routes import Route, Step
from verify.symbolic.scores import NORMAL_VECTORS, d, index, k, one_product, q

t = symbols("t", real=True)
OF_ONE_PRODUCT = (1 + t**2) ** Rational(-1, 2)
OF_SCORE = (1 + t**2) ** (-d / 2)
"""E exp(i t q·k) for independent standard normal components."""

START = E(exp(I * t * one_product()))

y, v = Symbol("y", real=True), Symbol("v", positive=True)


def of_normal(function: Any, mean: Any) -> Route:
    """Return the mean of a function of a centred normal number y of variance v, by Gauss's integral."""
    start = Integral(function * normal_density(y, v), (y, -oo, oo))
    return Route.of(
        "A normal number of variance v", start, Step(mean, "The square completed", GaussIntegrals(y))
    )


def route(title: str, *steps: Step) -> Route:
    """Return the chain from one product to the function of the score, and by more ``steps`` from there."""
    of_key = of_normal(exp(I * t * y), exp(-(t**2) * v / 2))
    of_query = of_normal(exp(-(t**2) * y**2 / 2), (1 + t**2 * v) ** -S.Half)
    given_query = Given(NORMAL_VECTORS, k, one_product(), of_key.proved(), v)
    return Route.of(
        title,
        START,
        Step(E(exp(-(t**2) * q[index] ** 2 / 2)), "One product: averaged over a normal key", given_query),
        Step(
            OF_ONE_PRODUCT,
            "Then over a normal query",
            Given(NORMAL_VECTORS, q, q[index], of_query.proved(), v),
        ),
        Step(
            OF_SCORE,
            "Independent dimensions multiply: the function of the score",
            Multiplied(NORMAL_VECTORS, index),
        ),
        *steps,
    ).defining("the characteristic function of one product")
