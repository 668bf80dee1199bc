"""The law of a score of independent standard normal components."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special
from sympy import Integral, Range, S, Sum, Symbol, besselk, exp, gamma, oo, pi, sqrt
from sympy import integrate as integrate_symbolically

from verify.symbolic import characteristic
from verify.symbolic.gauss import integrals
from verify.symbolic.kernel.core import Hypotheses
from verify.symbolic.kernel.equations import Replaced, same
from verify.symbolic.kernel.gaussian import OverNormal
from verify.symbolic.kernel.integrals import EulerIntegrals, Even, euler_integral
from verify.symbolic.kernel.normal_means import OverQueries, ProductOfMeans, Shifted
from verify.symbolic.kernel.sums import SumIdentity
from verify.symbolic.kernel.words import E, Ordered, n, s, sigma
from verify.symbolic.predict import function
from verify.symbolic.routes import Route, Step
from verify.symbolic.scores import NORMAL_ROWS, d, k, q
from verify.symbolic.softmax import TOTAL, i, j

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

x = Ordered("x", "x", positive=True)
NU = (d - 1) / 2
DENSITY = x**NU * besselk(NU, x) / (sqrt(pi) * gamma(d / 2) * 2**NU)
"""For x > 0; the law is symmetric. The claim on the law of a score derives it."""

_TAIL, _STEP, _OF_DEVIATION = 1e-18, 0.1, 0.7
"""What is left out at either end; step in the logarithm of a length, at most, and over its deviation."""

w, z = Symbol("w", positive=True), Symbol("z", real=True)
CHI_SQUARE = w ** (d / 2 - 1) * exp(-w / 2) / (2 ** (d / 2) * gamma(d / 2))
"""The density of a query's squared length."""


def of_component() -> Route:
    """Return the mean of exp(q²/(2d)) of one standard normal component q."""
    exponent = z**2 / (2 * d) - z**2 / 2
    return Route.of(
        "One component of the query",
        E(exp(q[1] ** 2 / (2 * d))),
        Step(
            Integral(exp(exponent) / sqrt(2 * pi), (z, -oo, oo)),
            "Against the normal density",
            OverNormal(NORMAL_ROWS, q[1], z),
        ),
        Step(Integral(2 * exp(exponent.subs(z, w)) / sqrt(2 * pi), (w, 0, oo)), "Even", Even(z, w)),
        Step((1 - 1 / d) ** (-S.Half), "Euler’s integral, for $d_k > 1$", EulerIntegrals(w)),
        defines="the mean of an exponential of the square of one of the query’s components",
        under=Hypotheses().restricted(d, Range(2, oo)),
    )


def mean_total() -> Route:
    """Return the mean of the sum of the exponentials of n scores over √d of one query."""
    query = Sum(q[i] ** 2, (i, 1, d))
    return Route.of(
        "The mean total of $n$ scaled scores",
        E(TOTAL),
        Step(
            E(Sum(exp(sigma**2 / 2), (j, 1, n))),
            r"Given the query scores are normal: one is shifted by $\sigma^2$ in the integral over it",
            Shifted(s[j], sigma**2),
        ),
        Step(n * exp(sigma**2 / 2), "All keys alike", SumIdentity()),
        Step(
            E(n * exp(query / (2 * d))),
            "Over queries: given a query the scores’ variance is its squared length over $d_k$",
            OverQueries(query, k, 1 / sqrt(d)),
        ),
        Step(
            n * E(exp(q[1] ** 2 / (2 * d))) ** d,
            "The query’s components are independent and alike",
            ProductOfMeans(NORMAL_ROWS),
        ),
        Step(n * (1 - 1 / d) ** (-d / 2), "The mean of one of them", Replaced(of_component().proved())),
    )


def over_both_sides(even: Any) -> Any:
    """Return the integral over the whole line of an ``even`` function, given as it is for x > 0."""
    return integrate_symbolically(2 * even, (x, 0, oo), meijerg=True, conds="none")


def is_mixed_by(weight: Any) -> bool:
    """Return whether a score has the law of normal numbers whose variance ``w`` has the density ``weight``.

    A normal law of variance w has the characteristic function exp(-t²w/2); averaged over w, that has to be
    the score's own.
    """
    t = Symbol("t", positive=True)
    average = euler_integral(exp(-(t**2) * w / 2) * weight, w)
    return same(average, characteristic.OF_SCORE.subs(characteristic.t, t))


def mean_of_even(of_score: Any, score: Any, dimension: int, scale: float) -> float:
    """Return the mean of an even function of ``scale``·q·k, an expression in the symbol ``score``."""
    density, of_one = (
        function((one,), of, "scipy") for one, of in ((x, DENSITY.subs(d, dimension)), (score, of_score))
    )
    deviations = 20 * dimension**0.5
    return 2 * float(integrals(lambda at: of_one(scale * at) * density(at), (0.0, deviations), 1e-13)[0])


def distribution(density: Callable[[Array], Any], points: Array) -> Array:
    """Return the symmetric law's distribution function at increasing positive ``points``."""
    found: Array = 0.5 + np.cumsum(integrals(density, (0.0, *points), 1e-14))
    return found


def below(dimension: float, point: float) -> float:
    """Return P(q·k ≤ ``point``) by averaging the normal law over the query's squared length.

    The mixture that the claim on the law derives; unlike the density it stays within floating point in
    thousands of dimensions.
    """
    length, probability = lengths(dimension)
    return float(probability @ special.ndtr(point / length))


@cache
def rounding_error(dimension: int, bits: int) -> float:
    """Return the mean squared error of q·k rounded to so many significant bits.

    A twelfth of the squared spacing of those numbers, 2^(e + 1 - bits) from 2^e on, averaged over the powers
    of two from 1/16 of the standard deviation up to 16 of them. Scores are taken as even between neighbours:
    to 0.4% with 4 bits, to a part in 2000 with 8.
    """
    top = round(math.log2(dimension**0.5)) + 4
    powers = range(top - 8, top)
    above = {e: below(dimension, -(2.0**e)) for e in (*powers, top)}
    return sum(2 * (above[e] - above[e + 1]) * 4.0 ** (e + 1 - bits) / 12 for e in powers)


def lengths(dimension: float) -> tuple[Array, Array]:
    """Return lengths of a query of standard normal components, and their probabilities on a fine grid.

    The trapezoid rule in the logarithm, where everything is analytic about the real axis and it converges
    geometrically. What lies beyond either end has a probability of 1e-18. Between whole dimensions the law
    of that many draws a smooth curve.
    """
    ends = special.gammaincinv(dimension / 2, _TAIL), special.gammainccinv(dimension / 2, _TAIL)
    low, high = np.log(2 * np.array(ends)) / 2
    steps = math.ceil((high - low) / min(_STEP, _OF_DEVIATION / math.sqrt(2 * dimension)))
    logarithm = np.linspace(low, high, steps + 1)
    exponent = dimension * logarithm - np.exp(2 * logarithm) / 2
    density = np.exp(exponent - np.max(exponent))
    return np.exp(logarithm), density / np.sum(density)
