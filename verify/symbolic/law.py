"""The law of a score of independent standard normal components."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from sympy import Add, Idx, Integral, Range, S, Sum, Symbol, besselk, cos, exp, gamma, oo, pi, sqrt

from verify.symbolic import characteristic
from verify.symbolic.gauss import integrals
from verify.symbolic.kernel.equations import PutIn, Replaced
from verify.symbolic.kernel.hypotheses import Hypotheses
from verify.symbolic.kernel.integrals import EulerIntegrals, Integrated, SameIntegrands
from verify.symbolic.kernel.laws import (
    AlikeTerms,
    NormalGiven,
    SumOfSquares,
    chi_square_density,
    normal_density,
)
from verify.symbolic.kernel.special_integrals import BesselIntegrals, Exchanged, GaussIntegrals
from verify.symbolic.kernel.sums import Surplus
from verify.symbolic.kernel.words import E, Ordered, n
from verify.symbolic.printing import function
from verify.symbolic.routes import Route, Step
from verify.symbolic.scores import NORMAL_VECTORS, d, index, k, q, score

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

x = Ordered("x", "x", positive=True)
NU = (d - 1) / 2
DENSITY = x**NU * besselk(NU, x) / (sqrt(pi) * gamma(d / 2) * 2**NU)
"""For x > 0; the law is symmetric. The claim on the law of a score derives it."""

_TAIL, _STEP, _OF_DEVIATION = 1e-18, 0.1, 0.7
"""What is left out at either end; step in the logarithm of a length, at most, and over its deviation."""

w = Symbol("w", positive=True)
CHI_SQUARE = chi_square_density(w, d)
"""The density of a query's squared length."""

SQUARES = Sum(q[index] ** 2, (index, 1, d))
"""A query's squared length."""

SQUARES_ARE_CHI_SQUARE = SumOfSquares(NORMAL_VECTORS, q, w)

MIXED = Integral(normal_density(x, w) * CHI_SQUARE, (w, 0, oo))
"""The density as a mixture of those of normal numbers with the variance w."""

j = Idx("j")
TOTAL = Sum(exp(Sum(q[index] * k[j, index], (index, 1, d)) / sqrt(d)), (j, 1, n))
"""The sum of the exponentials of n scores over √d of one query."""


def given_query(function: Any, mean: Any, of: Any = score) -> NormalGiven:
    """Return the rule that puts the ``mean`` of a ``function`` of a normal number y of variance v in for E.

    Given the query a score is normal, with the query's squared length as variance.
    """
    return NormalGiven(
        NORMAL_VECTORS, k, of, characteristic.of_normal(function, mean).proved(), characteristic.v
    )


def mean_total() -> Route:
    """Return the mean of the sum of the exponentials of n scores over √d of one query."""
    of_one = exp(TOTAL.function.args[0])
    given = given_query(
        exp(characteristic.y / sqrt(d)), exp(characteristic.v / (2 * d)), of_one.args[0] * sqrt(d)
    )
    return Route.of(
        "The mean total of $n$ scaled scores",
        E(TOTAL),
        Step(n * E(of_one), "The keys are alike", AlikeTerms(NORMAL_VECTORS, j)),
        Step(
            n * E(exp(SQUARES / (2 * d))),
            "Given the query a score is normal, its variance the query’s squared length over $d_k$",
            given,
        ),
        Step(
            Integral(n * exp(w / (2 * d)) * CHI_SQUARE, (w, 0, oo)),
            "The squared length is chi-square",
            SQUARES_ARE_CHI_SQUARE,
        ),
        Step(n * (1 - 1 / d) ** (-d / 2), "Integrated over w, for $d_k > 1$", EulerIntegrals(w)),
    )


def over_length(size: Any) -> Route:
    """Return the mean of ``size`` over the query's length, at most ``size`` over √(d - 2).

    Twice the mean of 1/√w is at most √v times that of 1/w and 1/√v, for any v; v is then the d - 2 of E 1/w.
    """
    v, under = Ordered("v", "v", positive=True), Hypotheses().restricted(d, Range(3, oo))
    terms = {
        sqrt(v) * CHI_SQUARE / (2 * w): sqrt(v) / (2 * (d - 2)),
        CHI_SQUARE / (2 * sqrt(v)): 1 / (2 * sqrt(v)),
    }
    apart, most = Add(*(Integral(one, (w, 0, oo)) for one in terms)), Integral(Add(*terms), (w, 0, oo))
    euler = EulerIntegrals(w)
    each = tuple(
        Route.of("", Integral(one, (w, 0, oo)), Step(value, "", euler), under=under).proved()
        for one, value in terms.items()
    )
    whole = Route.of(
        "",
        most,
        Step(apart, "", SameIntegrands(w, known_integrals=each)),
        Step(Add(*terms.values()), "", euler),
        under=under,
    ).proved()
    bounded = Route.of(
        "One over the length",
        CHI_SQUARE / sqrt(w),
        Step(
            most.function,
            "No square is negative",
            Surplus(CHI_SQUARE * (sqrt(sqrt(v) / w) - 1 / sqrt(sqrt(v))) ** 2 / 2),
        ),
        Step(most, "For every w, and so for the integrals", Integrated(w, 0, oo, (whole,))),
        Step(whole.rhs, "Euler's integrals", Replaced(whole)),
        Step(1 / sqrt(d - 2), "With $v = d_k - 2$", PutIn({v: d - 2})),
        under=under,
    )
    return Route.of(
        "Averaged over the length of a query",
        E(size / sqrt(SQUARES)),
        Step(
            size * Integral(bounded.start, (w, 0, oo)),
            "The squared length is chi-square",
            SQUARES_ARE_CHI_SQUARE,
        ),
        Step(size / sqrt(d - 2), "The integral's bound", Replaced(bounded.proved())),
        under=under,
    )


def transform() -> Route:
    """Return the cosine transform of twice the density."""
    t, weights = characteristic.t, Integral(CHI_SQUARE, (w, 0, oo))
    whole = Route.of(
        "The whole probability",
        Integral(2 * MIXED.function, (x, 0, oo), (w, 0, oo)),
        Step(weights, "Normal densities", GaussIntegrals(x)),
        Step(S.One, "Weights", EulerIntegrals(w)),
    )
    return Route.of(
        "The cosine transform of twice the density",
        Integral(2 * cos(t * x) * DENSITY, (x, 0, oo)),
        Step(
            Integral(2 * cos(t * x) * MIXED, (x, 0, oo)),
            "The density as a mixture of normal ones",
            BesselIntegrals(w),
        ),
        Step(
            Integral(2 * cos(t * x) * MIXED.function, (x, 0, oo), (w, 0, oo)),
            "The order of the integrals; without the cosine they are the whole probability, 1",
            Exchanged(whole.proved()),
        ),
        Step(Integral(exp(-(t**2) * w / 2) * CHI_SQUARE, (w, 0, oo)), "Over x", GaussIntegrals(x)),
        Step(characteristic.OF_SCORE, "Over w", EulerIntegrals(w)),
        defines="the transform of the density",
    )


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
    return float(probability @ scipy.special.ndtr(point / length))


@cache
def rounding_error(dimension: int, bits: int) -> float:
    """Return the mean squared error of q·k rounded to a number of significant bits.

    From 2^e on those numbers are 2^(e + 1 - bits) apart, and a score moves to the nearer of its two
    neighbours: integrated between each number and the midpoints beside it, over the powers of two from
    2^-12 of the standard deviation to 16 of it.
    """
    top = round(math.log2(dimension**0.5)) + 4
    length, probability = lengths(dimension)
    nodes, weights = np.polynomial.legendre.leggauss(8)
    total = 0.0
    for e in range(top - 16, top):
        spacing = 2.0 ** (e + 1 - bits)
        error = spacing / 4 * (nodes + 1)
        above = 2.0**e + spacing * np.arange(2 ** (bits - 1))[:, None] + error
        of_length = np.stack([above, above + spacing - 2 * error])[..., None] / length
        density = np.exp(-(of_length**2) / 2) @ (probability / length) / math.sqrt(2 * math.pi)
        total += spacing / 2 * float(np.sum(weights * error**2 * density))
    return total


def lengths(dimension: float) -> tuple[Array, Array]:
    """Return lengths of a query of standard normal components, and their probabilities on a fine grid.

    The trapezoid rule in the logarithm, where everything is analytic about the real axis and it converges
    geometrically. What lies beyond either end has a probability of 1e-18. Between whole dimensions the law
    of that many draws a smooth curve.
    """
    ends = scipy.special.gammaincinv(dimension / 2, _TAIL), scipy.special.gammainccinv(dimension / 2, _TAIL)
    low, high = np.log(2 * np.array(ends)) / 2
    steps = math.ceil((high - low) / min(_STEP, _OF_DEVIATION / math.sqrt(2 * dimension)))
    logarithm = np.linspace(low, high, steps + 1)
    exponent = dimension * logarithm - np.exp(2 * logarithm) / 2
    density = np.exp(exponent - np.max(exponent))
    return np.exp(logarithm), density / np.sum(density)
