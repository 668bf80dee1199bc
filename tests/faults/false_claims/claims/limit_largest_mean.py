"""False: the mean of the larger is the larger mean."""

from sympy import Max

from tests.faults.false_claims.shared import claim, r, steps, y
from verify.spec import E
from verify.spec.rules import Identity

CLAIM = claim(
    "The mean of the larger",
    lambda: steps(E(Max(r, y)), (Max(E(r), E(y)), Identity())),
)
