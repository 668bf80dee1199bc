"""True: Σ(j - 1) is n(n - 1)/2."""

from sympy import Sum

from tests.faults.false_claims.shared import claim, j_, steps
from verify.spec import n
from verify.spec.rules import ClosedSums

CLAIM = claim(
    "A sum with its size in it",
    lambda: steps(Sum(j_ - 1, (j_, 1, n)), (n * (n - 1) / 2, ClosedSums())),
)
