"""True: the sum is 1."""

from sympy import Sum

from tests.faults.false_claims.shared import claim, j_, steps
from verify.spec import n
from verify.spec.rules import ClosedSums

CLAIM = claim(
    "Many small terms",
    lambda: steps(n * Sum(1, (j_, 1, n)), (n**2, ClosedSums({Sum(1, (j_, 1, n)): n}))),
)
