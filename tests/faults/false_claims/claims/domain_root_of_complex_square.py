"""False: the root of z² is z."""

from sympy import sqrt

from tests.faults.false_claims.shared import claim, steps, z
from verify.spec.rules import Identity

CLAIM = claim(
    "The root of a complex square",
    lambda: steps(sqrt(z**2), (z, Identity())),
)
