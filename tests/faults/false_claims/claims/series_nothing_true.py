"""True: 1/(d + 1) is about 1/d."""

from tests.faults.false_claims.shared import claim, steps
from verify.spec import d
from verify.spec.rules import FirstTerms

CLAIM = claim(
    "Terms that are none",
    lambda: steps(1 / (d + 1), (1 / d, FirstTerms(d, 1))),
)
