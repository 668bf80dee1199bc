"""False: the root of r² is r."""

from sympy import sqrt

from tests.faults.false_claims.shared import claim, r, steps
from verify.spec.rules import Identity

CLAIM = claim(
    "The root of a square",
    lambda: steps(sqrt(r**2 + 2 * r + 1), (r + 1, Identity())),
)
