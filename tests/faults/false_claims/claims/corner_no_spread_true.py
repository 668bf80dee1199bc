"""True: 0 < σ + a."""

from sympy import S

from tests.faults.false_claims.shared import a, claim, steps
from verify.spec import Sign, sigma

CLAIM = claim(
    "Scores without spread",
    lambda: steps(S.Zero, (sigma + a, Sign(strict=True))),
)
