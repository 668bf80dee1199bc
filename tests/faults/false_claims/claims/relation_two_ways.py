"""False: y ≤ y + a, and y + a ≥ y - b, so y ≤ y - b."""

from sympy import S

from tests.faults.false_claims.shared import a, b, claim, steps, theorem, y
from verify.spec.rules import Replaced, Sign, Turned

CLAIM = claim(
    "A chain that goes down and up again",
    lambda: steps(
        y,
        (y + a, Replaced(theorem(S.Zero, (a, Sign()), (y + a, Turned(start=y))))),
        (y - b, Replaced(theorem(S.Zero, (a + b, Sign()), (y - b, Turned(start=y + a))))),
    ),
)
