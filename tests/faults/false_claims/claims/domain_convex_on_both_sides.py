"""False: E 1/r² is at least 1/(E r)², also for r of both signs."""

from tests.faults.false_claims.shared import claim, r, steps
from verify.spec import E
from verify.spec.rules import Jensen

CLAIM = claim(
    "The mean of an inverse square",
    lambda: steps(E(1 / r**2), (1 / E(r) ** 2, Jensen(r, "≥"))),
)
