"""Means over normal scores by integration over all of them, for a few keys: an oracle without any formula."""

from typing import Any

import numpy as np
from sympy import S, lambdify

from verify.symbolic.kernel.words import E, sigma
from verify.symbolic.softmax import scores, written_out

STEP, REACH = 0.2, 8.0
"""Spacing and reach of the trapezoid rule, in standard deviations."""


def mean_over_scores(expression: Any, keys: int, deviation: float) -> float:
    """Return the number that ``expression`` is for this number of keys and this σ, expectations integrated.

    The trapezoid rule converges geometrically for functions analytic about the real axis. Source: L. N.
    Trefethen and J. A. C. Weideman, The Exponentially Convergent Trapezoidal Rule, SIAM Rev. 56 (2014).
    """
    integrated = expression.replace(E, lambda argument: _mean(argument, keys, deviation))
    return float(written_out(integrated, keys).subs(sigma, deviation))


def _mean(argument: Any, keys: int, deviation: float) -> Any:
    integrand = lambdify(scores(keys), written_out(argument, keys).subs(sigma, deviation), "numpy", cse=True)
    axis = np.arange(-REACH, REACH + STEP / 2, STEP)
    density = np.exp(-(axis**2) / 2)
    density /= density.sum()
    points = np.meshgrid(*[axis] * keys, indexing="ij", sparse=True)
    weights: Any = np.ones(())
    for place in range(keys):
        shape = [1] * keys
        shape[place] = -1
        weights = weights * density.reshape(shape)
    values = np.broadcast_to(integrand(*(deviation * one for one in points)), weights.shape)
    return S(float(np.sum(weights * values)))
