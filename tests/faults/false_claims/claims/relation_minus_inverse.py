"""False: -1/y grows with y, over the pole at 0 as well."""

from sympy import S

from tests.faults.false_claims.shared import a, claim, steps, theorem, y
from verify.spec.rules import Replaced, Sign, Turned

CLAIM = claim(
    "Inverses in order",
    lambda: steps(-1 / y, (-1 / (y + a), Replaced(theorem(S.Zero, (a, Sign()), (y + a, Turned(start=y)))))),
)
