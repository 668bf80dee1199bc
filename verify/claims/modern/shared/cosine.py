"""The cosine of a query and a key of independent standard normal components."""

from __future__ import annotations

from sympy import Sum, sqrt, symbols

from verify.symbolic.kernel.laws import AlongAndAcross, chi_square_density, normal_density
from verify.symbolic.law import SQUARES, w
from verify.symbolic.printing import ordered
from verify.symbolic.scores import NORMAL_VECTORS, d, index, k, q, score

COSINE = ordered(r"\hat{q}\cdot\hat{k}:a0")
MEANING = score / sqrt(SQUARES * Sum(k[index] ** 2, (index, 1, d)))
n = ordered("n:b", integer=True, positive=True)
"""Half the order of a moment."""

z = symbols("z", positive=True)
ALONG, ACROSS = 2 * normal_density(z, 1), chi_square_density(w, d - 1)
"""Densities of the size z of a query's component along the key, and of the others' sum of squares w."""

along_the_key = AlongAndAcross(NORMAL_VECTORS, q, score, z, w)
"""Of a query that lies anyhow one component is along the key: cos² = z²/(z² + w)."""
