"""The Jacobian of softmax with symbolic n, for claims of the former language."""

from typing import Any

import numpy as np
from sympy import Dummy, Float, Indexed, Integer, KroneckerDelta, Sum

from verify.montecarlo.distributions import Array
from verify.symbolic.kernel.algebra import replaced
from verify.symbolic.kernel.words import M, n, p, x
from verify.symbolic.printing import function
from verify.symbolic.softmax import SQUARES, i, j

__all__ = ["CUBES", "ENTRY", "FROBENIUS", "LENGTH", "M", "value", "x"]

ENTRY = p[i] * (KroneckerDelta(i, j) - p[j])
"""J_ij, the derivative of probability i by score j."""

LENGTH = Sum(x[i] ** 2, (i, 1, n))
"""|x|²."""

CUBES = Sum(p[i] ** 3, (i, 1, n))

FROBENIUS = SQUARES - 2 * CUBES + SQUARES**2
"""The squared Frobenius norm of J."""

_ENTRY = Dummy()


def value(expression: Any, probabilities: Array) -> float:
    """Return the number that a function of sums over the probabilities, and of single ones, is for these."""

    def total(summand: Any, limits: Any) -> Any:
        of_one = function((_ENTRY,), summand.xreplace({p[limits[0]]: _ENTRY}), "numpy")
        return Float(np.sum(np.broadcast_to(of_one(probabilities), probabilities.shape)))

    summed = replaced(expression, Sum, total)
    entries = {one: Float(probabilities[int(one.indices[0]) - 1]) for one in summed.atoms(Indexed)}
    return float(summed.xreplace(entries | {n: Integer(len(probabilities))}))
