"""True: d/(d + e) at 1 is 1/(1 + e)."""

from sympy import S

from tests.faults.false_claims.shared import a, b, claim, e, steps
from verify.spec.rules import Identity, PutIn

CLAIM = claim(
    "Terms for all values",
    lambda: steps(
        a / (a + e) + b, (b + 1 - e / (a + e), Identity()), (b + 1 - e / (1 + e), PutIn({a: S.One}))
    ),
)
