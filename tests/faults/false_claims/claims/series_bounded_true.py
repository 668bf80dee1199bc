"""True: for large a."""

from tests.faults.false_claims.shared import a, claim, e, steps
from verify.spec.rules import FirstTerms

CLAIM = claim(
    "Terms for what is bounded",
    lambda: steps(a / (a + e), (1 - e / a, FirstTerms(a, 1))),
)
