"""True: from b ≤ a + b follows b² ≤ (a + b)²."""

from sympy import S

from tests.faults.false_claims.shared import a, b, claim, steps, theorem
from verify.spec.rules import Replaced, Sign, Turned

CLAIM = claim(
    "A bound squared",
    lambda: steps(b**2, ((a + b) ** 2, Replaced(theorem(S.Zero, (a, Sign()), (a + b, Turned(start=b)))))),
)
