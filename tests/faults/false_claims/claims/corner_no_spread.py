"""False: 0 < σ - a."""

from sympy import S

from tests.faults.false_claims.shared import a, claim, steps
from verify.spec import sigma
from verify.spec.rules import Sign

CLAIM = claim(
    "Scores without spread",
    lambda: steps(S.Zero, (sigma - a, Sign(strict=True))),
)
