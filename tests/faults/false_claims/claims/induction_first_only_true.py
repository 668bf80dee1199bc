"""True: Σ(2j - 1) is."""

from sympy import Sum

from tests.faults.false_claims.shared import claim, j_, steps
from verify.spec import n
from verify.spec.rules import ClosedSums

CLAIM = claim(
    "A sum that agrees at one",
    lambda: steps(Sum(2 * j_ - 1, (j_, 1, n)), (n**2, ClosedSums())),
)
