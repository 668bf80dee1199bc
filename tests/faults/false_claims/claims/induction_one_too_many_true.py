"""True: it is n(n + 1)(2n + 1)/6."""

from sympy import Sum

from tests.faults.false_claims.shared import claim, j_, steps
from verify.spec import n
from verify.spec.rules import ClosedSums

CLAIM = claim(
    "A sum of squares",
    lambda: steps(Sum(j_**2, (j_, 1, n)), (n * (n + 1) * (2 * n + 1) / 6, ClosedSums())),
)
