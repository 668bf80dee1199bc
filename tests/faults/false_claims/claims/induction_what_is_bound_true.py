"""True: Σb is n b."""

from sympy import Sum

from tests.faults.false_claims.shared import b, claim, j_, steps
from verify.spec import n
from verify.spec.rules import ClosedSums

CLAIM = claim(
    "A constant that stands for the index",
    lambda: steps(Sum(b, (j_, 1, n)), (n * b, ClosedSums())),
)
