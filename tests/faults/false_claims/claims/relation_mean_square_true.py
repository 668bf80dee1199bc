"""True: E r² is at least (E r)²."""

from tests.faults.false_claims.shared import claim, r, steps
from verify.spec import E
from verify.spec.rules import Jensen

CLAIM = claim(
    "The mean square and the square of the mean",
    lambda: steps(E(r**2), (E(r) ** 2, Jensen(r, "≥"))),
)
