"""False: r² ≤ 0.98 r from 0 to 1."""

from sympy import Rational, S

from tests.faults.false_claims.shared import claim, r, steps
from verify.spec.rules import OnRange

CLAIM = claim(
    "A bound on a range",
    lambda: steps(r**2, (Rational(98, 100) * r, OnRange(r, S.Zero, S.One, S(2)))),
)
