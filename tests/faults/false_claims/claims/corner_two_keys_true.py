"""True: 0 < n - 1 + a."""

from sympy import S

from tests.faults.false_claims.shared import a, claim, steps
from verify.spec import n
from verify.spec.rules import Sign

CLAIM = claim(
    "Three keys",
    lambda: steps(S.Zero, (n - 1 + a, Sign(strict=True))),
)
