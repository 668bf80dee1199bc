"""True: it is for positive a."""

from tests.faults.false_claims.shared import a, claim, steps
from verify.spec import E
from verify.spec.rules import Jensen

CLAIM = claim(
    "The mean of an inverse square",
    lambda: steps(E(1 / a**2), (1 / E(a) ** 2, Jensen(a, "≥"))),
)
