"""False: d/(d + e) is about 1 - e/d, and so 1 - e/a at d = 1."""

from sympy import S

from tests.faults.false_claims.shared import a, claim, e, steps
from verify.spec.rules import FirstTerms, PutIn

CLAIM = claim(
    "Terms for all values",
    lambda: steps(a / (a + e), (1 - e / a, FirstTerms(a, 1)), (1 - e, PutIn({a: S.One}))),
)
