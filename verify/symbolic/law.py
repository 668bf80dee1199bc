"""The law of a score of independent standard normal components."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import integrate, special, stats
from sympy import Symbol, besselk, exp, gamma, oo, pi, sqrt
from sympy import integrate as integrate_symbolically

from verify.symbolic.printing import Ordered
from verify.symbolic.scores import d

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

x = Ordered("x", "x", positive=True)
NU = (d - 1) / 2
DENSITY = x**NU * besselk(NU, x) / (sqrt(pi) * gamma(d / 2) * 2**NU)
"""For x > 0; the law is symmetric. The claim on the law of a score derives it."""

w = Symbol("w", positive=True)
CHI_SQUARE = w ** (d / 2 - 1) * exp(-w / 2) / (2 ** (d / 2) * gamma(d / 2))
"""The density of a query's squared length."""


def over_both_sides(even: Any) -> Any:
    """Return the integral over the whole line of an ``even`` function, given as it is for x > 0."""
    return integrate_symbolically(2 * even, (x, 0, oo), meijerg=True, conds="none")


def distribution(density: Callable[[float], float], points: Array) -> Array:
    """Return the symmetric law's distribution function at increasing positive ``points``."""
    edges = np.concatenate([[0.0], points])
    pieces = [integrate.quad(density, low, high, epsabs=1e-12)[0] for low, high in pairwise(edges)]
    found: Array = 0.5 + np.cumsum(pieces)
    return found


def below(dimension: float, point: float) -> float:
    """Return P(q·k ≤ ``point``) by averaging the normal law over the query's squared length.

    The mixture that the claim on the law derives; unlike the density it stays within floating point in
    thousands of dimensions. Between whole dimensions the chi-square law of that many draws a smooth curve.
    """
    squared_length = stats.chi2(dimension)
    edges = squared_length.ppf([1e-18, 0.01, 0.5, 0.99]), squared_length.isf(1e-18)
    ends = [*edges[0], edges[1]]

    def integrand(w: float) -> float:
        return float(special.ndtr(point / w**0.5) * squared_length.pdf(w))

    return float(
        sum(integrate.quad(integrand, a, b, epsabs=1e-13, epsrel=1e-11)[0] for a, b in pairwise(ends))
    )
