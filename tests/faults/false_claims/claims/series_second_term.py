"""False: d/(d + e) is 1 - e/d up to 1/d²."""

from tests.faults.false_claims.shared import claim, e, steps
from verify.spec import d
from verify.spec.rules import FirstTerms

CLAIM = claim(
    "Two terms",
    lambda: steps(d / (d + e), (1 - e / d, FirstTerms(d, 2))),
)
