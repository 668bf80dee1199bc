"""True: the square of the root of z + 1 is z + 1, times z."""

from sympy import sqrt

from tests.faults.false_claims.shared import claim, steps, z
from verify.spec.rules import Identity

CLAIM = claim(
    "The root of a complex square",
    lambda: steps(z * sqrt(z + 1) ** 2, (z**2 + z, Identity())),
)
