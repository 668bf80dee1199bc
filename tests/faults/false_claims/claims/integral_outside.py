"""False: ∫√a² da over all numbers, for a positive a."""

from sympy import Integral, oo, sqrt

from tests.faults.false_claims.shared import a, claim, steps
from verify.spec.rules import Identity

CLAIM = claim(
    "Over values that there are not",
    lambda: steps(Integral(sqrt(a**2), (a, -oo, oo)) + 1, (1 + Integral(a, (a, -oo, oo)), Identity())),
)
