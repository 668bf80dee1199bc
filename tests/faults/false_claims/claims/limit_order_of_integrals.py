"""False: both orders of integrating (a - b)/(a + b)³ over the unit square agree."""

from sympy import Integral

from tests.faults.false_claims.shared import a, b, claim, steps
from verify.spec.rules import Identity

CLAIM = claim(
    "The order of two integrals",
    lambda: steps(
        Integral((a - b) / (a + b) ** 3, (a, 0, 1), (b, 0, 1)),
        (Integral((a - b) / (a + b) ** 3, (b, 0, 1), (a, 0, 1)), Identity()),
    ),
)
