"""The tail of a score in an even dimension as a finite sum: it is the difference of two gamma numbers."""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from sympy import (
    I, Integral, Sum, Symbol, binomial, exp, expand_log, factorial, gamma, log, loggamma, oo, sign,
)  # fmt: skip

from verify.symbolic import characteristic
from verify.symbolic.kernel.equations import Identity, PutIn, Unfolded
from verify.symbolic.kernel.integrals import EulerIntegrals
from verify.symbolic.kernel.laws import exceeds
from verify.symbolic.kernel.special_integrals import BinomialTheorem, Exchanged, GammaTail, SplitAt
from verify.symbolic.kernel.transforms import SameLaw
from verify.symbolic.kernel.words import Ordered
from verify.symbolic.printing import function
from verify.symbolic.routes import Route, Step
from verify.symbolic.scores import d, score

b = Ordered("b", "b", positive=True)
TAIL = Symbol(r"P(q\cdot k > b)")
"""The chance of a score above b."""

EVEN_TAIL = Symbol(r"P_{2m}(q\cdot k > b)")
"""The same in 2m dimensions."""

m = Ordered("m", "a", integer=True, positive=True)
"""Half the dimension."""

k, j = (Symbol(name, integer=True, nonnegative=True) for name in "kj")
v, y = Symbol("v", positive=True), Symbol("y", positive=True)


IN_EVEN = score.subs(d, 2 * m)


def _density(at: Any) -> Any:
    """Return the density of a gamma number of order m."""
    return at ** (m - 1) * exp(-at) / gamma(m)


def tail() -> Route:
    """Return the tail of a score in 2m dimensions."""
    t, both = characteristic.t, _density(v) * _density(y)
    of_score = characteristic.route("In 2m dimensions", Step((1 + t**2) ** -m, "", PutIn({d: 2 * m})))
    of_difference = Route.of(
        "The difference of two gamma numbers",
        Integral(exp(I * t * (v - y)) * both, (v, 0, oo), (y, 0, oo)),
        Step((1 - I * t) ** -m * (1 + I * t) ** -m, "Each by itself", EulerIntegrals(v, y)),
        Step((1 + t**2) ** -m, "Multiplied", Identity()),
    )
    power, beside = (b + y) ** k, _density(y) * exp(-b - y)
    terms = binomial(k, j) * b ** (k - j) * y**j
    of_term = exp(-b) * b ** (k - j) / factorial(k - j) * binomial(m + j - 1, j) / 2 ** (m + j)
    return Route.of(
        "In an even dimension, $d_k = 2m$",
        EVEN_TAIL,
        Step(exceeds(IN_EVEN, b), "As a mean", Unfolded({EVEN_TAIL: exceeds(IN_EVEN, b)})),
        Step(
            Integral((1 + sign(v - y - b)) / 2 * both, (v, 0, oo), (y, 0, oo)),
            "A score is the difference of two independent gamma numbers of order m: both have the "
            "characteristic function $(1 + t^2)^{-m}$",
            SameLaw(of_score.proved(), of_difference.proved()),
        ),
        Step(Integral(both, (v, b + y, oo), (y, 0, oo)), "Where it exceeds b", SplitAt(v, b + y)),
        Step(
            Integral(beside * Sum(power / factorial(k), (k, 0, m - 1)), (y, 0, oo)),
            "The tail of a gamma number of whole order",
            GammaTail(v, k),
        ),
        Step(
            Integral(beside * Sum(Sum(terms, (j, 0, k)) / factorial(k), (k, 0, m - 1)), (y, 0, oo)),
            "The powers multiplied out",
            BinomialTheorem(power, y, j),
        ),
        Step(
            Sum(Integral(beside * terms / factorial(k), (y, 0, oo)), (j, 0, k), (k, 0, m - 1)),
            "Term by term; none is negative",
            Exchanged(),
        ),
        Step(Sum(of_term, (j, 0, k), (k, 0, m - 1)), "Integrated", EulerIntegrals(y)),
        defines="the chance of a score above b in 2m dimensions",
    )


def value(total: Sum, given: Mapping[Any, float]) -> float:
    """Return a finite sum, whose inner ends may depend on outer indices, with ``given`` values put in.

    Its terms are products of what is positive. They are added up from their logarithms, for factors may be
    beyond double precision.
    """
    logarithm = _logarithm(total.function)
    return math.fsum(
        float(np.sum(np.exp(function(tuple(places), logarithm, "scipy")(*places.values()))))
        for places in _places(total.limits, given)
    )


@cache
def _logarithm(product: Any) -> Any:
    """Return the logarithm of a product of powers, factorials and binomial coefficients."""
    parts = expand_log(log(product.rewrite(gamma)), force=True)
    return parts.replace(
        lambda one: isinstance(one, log) and isinstance(one.args[0], gamma),
        # Of a whole number it would be written as the logarithm again.
        lambda one: loggamma(*one.args[0].args, evaluate=False),
    )


def _places(limits: Sequence[Any], given: Mapping[Any, float]) -> Iterator[Mapping[Any, Any]]:
    """Yield the values of all symbols, those of the innermost index at once as an array.

    The outermost index of a sum comes last.
    """
    *inner, (index, *ends) = limits
    low, high = (int(function(tuple(given), end)(*given.values())) for end in ends)
    if not inner:
        yield {**given, index: np.arange(low, high + 1, dtype=np.float64)}
        return
    for at in range(low, high + 1):
        yield from _places(inner, {**given, index: float(at)})
