"""False: the mean of the root is the root of the mean."""

from sympy import sqrt

from tests.faults.false_claims.shared import a, claim, steps
from verify.spec import E
from verify.spec.rules import Identity

CLAIM = claim(
    "The mean of a root",
    lambda: steps(E(sqrt(a)), (sqrt(E(a)), Identity())),
)
