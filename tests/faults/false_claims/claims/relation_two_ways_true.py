"""True: y ≤ y + a ≤ y + a + b."""

from sympy import S

from tests.faults.false_claims.shared import a, b, claim, steps, theorem, y
from verify.spec.rules import Replaced, Sign, Turned

CLAIM = claim(
    "A chain that goes down and up again",
    lambda: steps(
        y,
        (y + a, Replaced(theorem(S.Zero, (a, Sign()), (y + a, Turned(start=y))))),
        (y + a + b, Replaced(theorem(S.Zero, (b, Sign()), (y + a + b, Turned(start=y + a))))),
    ),
)
