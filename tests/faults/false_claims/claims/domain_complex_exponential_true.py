"""True: the square of e^(z/2) is e^z."""

from sympy import exp

from tests.faults.false_claims.shared import claim, steps, z
from verify.spec.rules import Identity

CLAIM = claim(
    "The root of an exponential",
    lambda: steps((exp(z / 2) + 1) ** 2, (exp(z) + 2 * exp(z / 2) + 1, Identity())),
)
