"""The Jacobian of softmax with symbolic n: its constants are those of the matrix."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import Sum

from verify.claims.gradients.shared.jacobian import CUBES, ENTRY, FORM, FROBENIUS, value
from verify.montecarlo.attention import softmax
from verify.symbolic.kernel.core import prove
from verify.symbolic.kernel.sums import SumIdentity
from verify.symbolic.kernel.words import n, p, x
from verify.symbolic.softmax import SQUARES, i, j

VARIANCE = Sum(p[i] * x[i] ** 2, (i, 1, n)) - Sum(p[i] * x[i], (i, 1, n)) ** 2


def test_the_constants_are_those_of_the_matrix() -> None:
    """Trace, norm and quadratic form of diag(p) - ppᵀ as NumPy computes them."""
    rng = np.random.default_rng(1)
    weights = softmax(rng.normal(size=6))
    matrix = np.diag(weights) - np.outer(weights, weights)
    assert value(FROBENIUS, weights) == pytest.approx(np.linalg.norm(matrix) ** 2, rel=1e-12)
    assert value(1 - SQUARES, weights) == pytest.approx(np.trace(matrix), rel=1e-12)
    assert value(p[2] * CUBES, weights) == pytest.approx(weights[1] * np.sum(weights**3), rel=1e-12)
    assert prove(SumIdentity(), FORM, VARIANCE).relation == "="
    assert prove(SumIdentity(), Sum(ENTRY**2, (i, 1, n), (j, 1, n)), FROBENIUS).relation == "="
