"""True: what holds for all a holds for 1."""

from sympy import S

from tests.faults.false_claims.shared import a, b, claim, steps
from verify.spec.rules import Identity, PutIn

CLAIM = claim(
    "A cube and a square",
    lambda: steps((a + b) ** 2, (a**2 + 2 * a * b + b**2, Identity()), (b**2 + 2 * b + 1, PutIn({a: S.One}))),
)
