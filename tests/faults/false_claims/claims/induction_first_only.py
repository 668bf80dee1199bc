"""False: Σj is n², which is right for n = 1."""

from sympy import Sum

from tests.faults.false_claims.shared import claim, j_, steps
from verify.spec import n
from verify.spec.rules import ClosedSums

CLAIM = claim(
    "A sum that agrees at one",
    lambda: steps(Sum(j_, (j_, 1, n)), (n**2, ClosedSums())),
)
