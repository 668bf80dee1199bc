"""True: it is 2^(n + 1) - 2."""

from sympy import Sum

from tests.faults.false_claims.shared import claim, j_, steps
from verify.spec import n
from verify.spec.rules import ClosedSums

CLAIM = claim(
    "A geometric sum",
    lambda: steps(Sum(2**j_, (j_, 1, n)), (2 ** (n + 1) - 2, ClosedSums())),
)
