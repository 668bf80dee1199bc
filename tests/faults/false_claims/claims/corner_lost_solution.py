"""False: (r² - 2r + 1)/r = 0 and r(r - 1) = 0 have the same solutions."""

from sympy import Eq

from tests.faults.false_claims.shared import claim, r, steps
from verify.spec.rules import Equivalent

CLAIM = claim(
    "An equation over its factor",
    lambda: steps(Eq(r**2 - r, 0, evaluate=False), (Eq(r - 1, 0, evaluate=False), Equivalent(r))),
)
