"""False: 0 < d - 1; not for d = 1."""

from sympy import S

from tests.faults.false_claims.shared import claim, steps
from verify.spec import d
from verify.spec.rules import Sign

CLAIM = claim(
    "More than one dimension",
    lambda: steps(S.Zero, (d - 1, Sign(strict=True))),
)
