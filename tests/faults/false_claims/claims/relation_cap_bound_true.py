"""True: the bound alone."""

from sympy import S

from tests.faults.false_claims.shared import a, c, claim, steps, theorem
from verify.spec import d
from verify.spec.rules import Replaced, Sign, Turned

CLAIM = claim(
    "What a cap costs",
    lambda: steps(
        (2 + 4 / d) / c**2 - a,
        ((2 + 4 / d) / c**2, Replaced(theorem(S.Zero, (a, Sign()), (S.Zero, Turned(start=-a))))),
    ),
)
