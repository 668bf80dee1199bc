"""False: the root of e^z is e^(z/2) for complex z."""

from sympy import exp, sqrt

from tests.faults.false_claims.shared import claim, steps, z
from verify.spec.rules import Identity

CLAIM = claim(
    "The root of an exponential",
    lambda: steps(sqrt(exp(z)), (exp(z / 2), Identity())),
)
