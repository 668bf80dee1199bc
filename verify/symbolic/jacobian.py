"""The Jacobian of softmax with symbolic n, and checks of bounds on it that are exact for a few keys."""

from __future__ import annotations

from itertools import product
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np
from sympy import (
    Add,
    Dummy,
    Float,
    Integer,
    KroneckerDelta,
    Sum,
    lambdify,
)

from verify.symbolic.printing import Ordered, OrderedBase
from verify.symbolic.softmax import SQUARES, i, j, n, p

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

x = OrderedBase(Ordered("x", "x"))
"""Any real vector."""

M = Ordered("M", "M", positive=True)
"""A bound on the entries of a vector."""

ENTRY = p[i] * (KroneckerDelta(i, j) - p[j])
"""J_ij, the derivative of probability i by score j."""

FORM = Sum(x[i] * ENTRY * x[j], (i, 1, n), (j, 1, n))
"""xᵀJx."""

LENGTH = Sum(x[i] ** 2, (i, 1, n))
"""|x|²."""

CUBES = Sum(p[i] ** 3, (i, 1, n))

FROBENIUS = SQUARES - 2 * CUBES + SQUARES**2
"""The squared Frobenius norm of J."""


def without_sums(expression: Any) -> Any:
    """Return ``expression`` with its sums written out term by term, as they stand.

    SymPy's own ``doit`` multiplies out what is summed over a Kronecker delta.

    Raises:
        TypeError: a sum does not run from one whole number to another.
    """

    def terms(summand: Any, *limits: Any) -> Any:
        indices = [limit[0] for limit in limits]
        ranges = [range(index(limit[1]), index(limit[2]) + 1) for limit in limits]
        return Add(
            *(
                summand.xreplace(dict(zip(indices, map(Integer, keys), strict=True)))
                for keys in product(*ranges)
            )
        )

    return expression.replace(Sum, terms)


def value(expression: Any, probabilities: Array) -> float:
    """Return the number that a function of sums over the probabilities, and of single ones, is for these."""

    def total(summand: Any, limits: Any) -> Any:
        of_one = lambdify(entry := Dummy(), summand.xreplace({p[limits[0]]: entry}), "numpy")
        return Float(np.sum(np.broadcast_to(of_one(probabilities), probabilities.shape)))

    entries = {p[key]: Float(number) for key, number in enumerate(probabilities, 1)}
    return float(expression.replace(Sum, total).xreplace(entries | {n: Integer(len(probabilities))}))
