"""The law of a score of independent standard normal components, as expressions and as numbers.

Given the query a score is normal, and its variance is the query's squared length, which is chi-square.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Literal

import numpy as np
import scipy
from sympy import I, besselk

from verify.montecarlo.distributions import Array
from verify.spec import NORMAL_COMPONENTS, Chain, E, Indicator, Integral, LineCheck, S, Symbol, a, by_density
from verify.spec import cited, d, earlier, erf, exp, gamma, i, integral, j, k, moments, oo, over_components
from verify.spec import pi, q, score, sqrt, symbols

x = Symbol("x", real=True)
t, w, z = symbols("t w z", positive=True)
SHARE = E(Indicator(x - score))  # the probability that a score is below x, which is ``BELOW``
SQUARES = over_components(q[a, i] ** 2)  # a query's squared length
# The density of the squared length at w.
CHI_SQUARE = w ** (d / 2 - 1) * exp(-w / 2) / (2 ** (d / 2) * gamma(d / 2))
# The density of a score at z > 0, as a mixture of normal densities.
MIXTURE = Integral(CHI_SQUARE * exp(-(z**2) / (2 * w)) / sqrt(2 * pi * w), (w, 0, oo))
# The density of a score at z > 0; the law is symmetric.
DENSITY = (
    2 ** ((1 - d) / S(2)) * z ** ((d - 1) / S(2)) * besselk((d - 1) / S(2), z) / (sqrt(pi) * gamma(d / 2))
)
# The probability that a score is below x.
BELOW = Integral(CHI_SQUARE * (1 + erf(x / sqrt(2 * w))) / 2, (w, 0, oo))


def of_normals(theorem: str) -> LineCheck:
    """Return the citation of a theorem for standard normal components."""
    return cited(theorem, laws=NORMAL_COMPONENTS)


@cache  # so that its lines are checked once in a process
def distribution() -> Chain:
    """Return the chain of the probability that a score is below x, for any real x."""
    tower = "given the query a score is normal, its variance the query’s squared length"
    return Chain(SHARE, name="distribution", title="The probability that a score is below $x$").through(
        (E((1 + erf(x / sqrt(2 * SQUARES))) / 2), tower, of_normals("conditioning")),
        (BELOW, "the squared length is chi-square", of_normals("chi-square")),
    )


@cache
def transform(name: Literal["characteristic", "exponential"]) -> tuple[Chain, Chain, Chain]:
    """Return the chain of the mean of exp(i·t·score), or exp(t·score), after two means over a component."""
    unit, factor, title, given = {
        "characteristic": (I, Symbol("t", real=True), "The characteristic function of a score", ()),
        "exponential": (S.One, t, "The mean of an exponential of a score", (t < 1,)),
    }[name]
    b, u, v = symbols("b u v", real=True)
    c, rest = Symbol("c", positive=True), 1 - unit**2 * factor**2

    def over(variable: Symbol, function: Any) -> Any:
        return Integral(function * exp(-(variable**2) / 2) / sqrt(2 * pi), (variable, -oo, oo))

    key, query = over(v, exp(unit * b * v)), Integral(exp(-c * u**2 / 2) / sqrt(2 * pi), (u, -oo, oo))
    of_key = Chain(key, name="of-key", title="A mean over a normal component of a key").then(
        exp(unit**2 * b**2 / 2), "integrated", integral()
    )
    of_query = Chain(query, name="of-query", title="A mean over a normal component of a query").then(
        1 / sqrt(c), "integrated", integral()
    )
    product, densities = q[a, 1] * k[j, 1], by_density({k[j, 1]: v, q[a, 1]: u}, NORMAL_COMPONENTS)
    both, there = over(u, over(v, exp(unit * factor * u * v))), earlier(of_query, at={c: rest}, given=given)
    of_score = Chain(E(exp(unit * factor * score)), name=name, title=title, given=given).through(
        (E(exp(unit * factor * product)) ** d, "independent factors of one law", moments(NORMAL_COMPONENTS)),
        (both**d, "both components are normal", densities),
        (query.xreplace({c: rest}) ** d, "over the key", earlier(of_key, at={b: factor * u})),
        (rest ** (-d / 2), "over the query", there),
    )
    return of_key, of_query, of_score


# Probability left out at either end; step in the logarithm of a length, at most, and over its deviation.
_TAIL, _STEP, _OF_DEVIATION = 1e-40, 0.05, 0.5


def below(dimension: float, point: float) -> float:
    """Return P(q·k < ``point``) by averaging the normal law over the query's squared length."""
    # Unlike the density it stays within floating point in thousands of dimensions.
    length, probability = lengths(dimension)
    return float(probability @ scipy.special.ndtr(point / length))


@cache
def lengths(dimension: float) -> tuple[Array, Array]:
    """Return lengths of a query of standard normal components, and their probabilities on a fine grid."""
    # The trapezoid rule in the logarithm, where everything is analytic about the real axis and it converges
    # geometrically. The tail beyond either end has a probability of 1e-40: claims ask for shares of 1e-24.
    ends = scipy.special.gammaincinv(dimension / 2, _TAIL), scipy.special.gammainccinv(dimension / 2, _TAIL)
    low, high = np.log(2 * np.array(ends)) / 2
    steps = math.ceil((high - low) / min(_STEP, _OF_DEVIATION / math.sqrt(2 * dimension)))
    logarithm = np.linspace(low, high, steps + 1)
    exponent = dimension * logarithm - np.exp(2 * logarithm) / 2
    density = np.exp(exponent - np.max(exponent))
    return np.exp(logarithm), density / np.sum(density)
