"""False: 0 < (n - 1)² for every n."""

from sympy import S

from tests.faults.false_claims.shared import claim, steps
from verify.spec import n
from verify.spec.rules import Sign

CLAIM = claim(
    "The logarithm of the number of keys",
    lambda: steps(S.Zero, ((n - 1) ** 2, Sign(strict=True))),
)
