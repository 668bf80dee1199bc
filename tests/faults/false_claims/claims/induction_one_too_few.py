"""False: Σj is n(n - 1)/2."""

from sympy import Sum

from tests.faults.false_claims.shared import claim, j_, steps
from verify.spec import n
from verify.spec.rules import ClosedSums

CLAIM = claim(
    "A sum of numbers",
    lambda: steps(Sum(j_, (j_, 1, n)), (n * (n - 1) / 2, ClosedSums())),
)
