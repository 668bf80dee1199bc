"""True: r² ≤ r."""

from sympy import S

from tests.faults.false_claims.shared import claim, r, steps
from verify.spec.rules import OnRange

CLAIM = claim(
    "A bound on a range",
    lambda: steps(r**2, (r, OnRange(r, S.Zero, S.One, S(2)))),
)
