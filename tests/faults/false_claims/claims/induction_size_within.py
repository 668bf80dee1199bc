"""False: Σ(j - 1)n is (n - 1)n(2n - 1)/6."""

from sympy import Sum

from tests.faults.false_claims.shared import claim, j_, steps
from verify.spec import n
from verify.spec.rules import ClosedSums

CLAIM = claim(
    "A sum with its size in it",
    lambda: steps(Sum((j_ - 1) * n, (j_, 1, n)), ((n - 1) * n * (2 * n - 1) / 6, ClosedSums())),
)
