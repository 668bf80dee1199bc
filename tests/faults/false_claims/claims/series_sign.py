"""False: d/(d + e) is about 1 + e/d."""

from tests.faults.false_claims.shared import claim, e, steps
from verify.spec import d
from verify.spec.rules import FirstTerms

CLAIM = claim(
    "A first term",
    lambda: steps(d / (d + e), (1 + e / d, FirstTerms(d, 1))),
)
