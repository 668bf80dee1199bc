"""False: 0 ≤ n - 2."""

from sympy import S

from tests.faults.false_claims.shared import claim, steps
from verify.spec import n
from verify.spec.rules import Sign

CLAIM = claim(
    "Three keys",
    lambda: steps(S.Zero, (n - 2, Sign())),
)
