"""False: first terms for a below 5."""

from sympy import Interval

from tests.faults.false_claims.shared import a, claim, e, steps
from verify.spec.rules import FirstTerms, Hypotheses

CLAIM = claim(
    "Terms for what is bounded",
    lambda: steps(
        a / (a + e), (1 - e / a, FirstTerms(a, 1)), under=Hypotheses().restricted(a, Interval.open(0, 5))
    ),
)
