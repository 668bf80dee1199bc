"""False: from a ≥ -b follows a² ≥ b²."""

from sympy import S

from tests.faults.false_claims.shared import a, b, claim, steps, theorem
from verify.spec.rules import Replaced, Sign, Turned

CLAIM = claim(
    "A bound squared",
    lambda: steps(a**2, (b**2, Replaced(theorem(S.Zero, (a + b, Sign()), (-b, Turned(start=a)))))),
)
