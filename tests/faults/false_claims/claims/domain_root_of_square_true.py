"""True: the square of the root of r + a is r + a, times r."""

from sympy import sqrt

from tests.faults.false_claims.shared import a, claim, r, steps
from verify.spec.rules import Identity

CLAIM = claim(
    "The root of a square",
    lambda: steps(r * sqrt(r + a) ** 2, (r**2 + a * r, Identity())),
)
