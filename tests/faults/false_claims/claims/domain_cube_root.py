"""False: the principal cube root of r³ is r; of -8 it is no real number."""

from sympy import cbrt

from tests.faults.false_claims.shared import claim, r, steps
from verify.spec.rules import Identity

CLAIM = claim(
    "The cube root of a cube",
    lambda: steps(cbrt(r**3), (r, Identity())),
)
