"""The law of a score of independent standard normal components, as expressions and as numbers.

Given the query a score is normal, and its variance is the query's squared length, which is chi-square.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import scipy
from sympy import Integral, S, Symbol, besselk, erf, exp, gamma, oo, pi, sqrt, symbols

from verify.montecarlo.distributions import Array
from verify.symbolic.analysis import numerically
from verify.symbolic.chains import Chain, Line, LineCheck
from verify.symbolic.theorems import cited
from verify.symbolic.vocabulary import NORMAL_COMPONENTS, a, d, i, over_components, q

x = Symbol("x", real=True)
w, z = symbols("w z", positive=True)

SQUARES = over_components(q[a, i] ** 2)
"""A query's squared length."""

CHI_SQUARE = w ** (d / 2 - 1) * exp(-w / 2) / (2 ** (d / 2) * gamma(d / 2))
"""The density of the squared length at w."""

MIXTURE = Integral(CHI_SQUARE * exp(-(z**2) / (2 * w)) / sqrt(2 * pi * w), (w, 0, oo))
"""The density of a score at z > 0, as a mixture of normal ones."""

DENSITY = (
    2 ** ((1 - d) / S(2)) * z ** ((d - 1) / S(2)) * besselk((d - 1) / S(2), z) / (sqrt(pi) * gamma(d / 2))
)
"""The density of a score at z > 0; the law is symmetric."""

BELOW = Integral(CHI_SQUARE * (1 + erf(x / sqrt(2 * w))) / 2, (w, 0, oo))
"""The probability that a score is below x."""


def of_normals(theorem: str) -> LineCheck:
    """Return the citation of a theorem for standard normal components."""
    return cited(theorem, laws=NORMAL_COMPONENTS)


def basset() -> Chain:
    """Return the chain from the mixture to the density, which are compared as numbers."""
    line = Line(DENSITY, "an integral of Basset’s", numerically())
    return Chain(MIXTURE, line, name="basset", title="A mixture of normal densities")


_TAIL, _STEP, _OF_DEVIATION = 1e-18, 0.1, 0.7
"""What is left out at either end; step in the logarithm of a length, at most, and over its deviation."""


def below(dimension: float, point: float) -> float:
    """Return P(q·k < ``point``) by averaging the normal law over the query's squared length.

    Unlike the density it stays within floating point in thousands of dimensions.
    """
    length, probability = lengths(dimension)
    return float(probability @ scipy.special.ndtr(point / length))


@cache
def lengths(dimension: float) -> tuple[Array, Array]:
    """Return lengths of a query of standard normal components, and their probabilities on a fine grid.

    The trapezoid rule in the logarithm, where everything is analytic about the real axis and it converges
    geometrically. What lies beyond either end has a probability of 1e-18.
    """
    ends = scipy.special.gammaincinv(dimension / 2, _TAIL), scipy.special.gammainccinv(dimension / 2, _TAIL)
    low, high = np.log(2 * np.array(ends)) / 2
    steps = math.ceil((high - low) / min(_STEP, _OF_DEVIATION / math.sqrt(2 * dimension)))
    logarithm = np.linspace(low, high, steps + 1)
    exponent = dimension * logarithm - np.exp(2 * logarithm) / 2
    density = np.exp(exponent - np.max(exponent))
    return np.exp(logarithm), density / np.sum(density)
