"""True: the next term is e²/d²."""

from tests.faults.false_claims.shared import claim, e, steps
from verify.spec import d
from verify.spec.rules import FirstTerms

CLAIM = claim(
    "Two terms",
    lambda: steps(d / (d + e), (1 - e / d + e**2 / d**2, FirstTerms(d, 2))),
)
