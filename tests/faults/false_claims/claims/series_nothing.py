"""False: 1/d is about 0."""

from sympy import S

from tests.faults.false_claims.shared import claim, steps
from verify.spec import d
from verify.spec.rules import FirstTerms

CLAIM = claim(
    "Terms that are none",
    lambda: steps(1 / d, (S.Zero, FirstTerms(d, 0))),
)
