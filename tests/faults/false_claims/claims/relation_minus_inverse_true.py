"""True: -1/b grows with b > 0."""

from sympy import S

from tests.faults.false_claims.shared import a, b, claim, steps, theorem
from verify.spec.rules import Replaced, Sign, Turned

CLAIM = claim(
    "Inverses in order",
    lambda: steps(-1 / b, (-1 / (b + a), Replaced(theorem(S.Zero, (a, Sign()), (b + a, Turned(start=b)))))),
)
