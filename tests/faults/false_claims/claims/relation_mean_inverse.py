"""False: E 1/Z is at most 1/E Z."""

from tests.faults.false_claims.shared import a, claim, steps
from verify.spec import E
from verify.spec.rules import Jensen

CLAIM = claim(
    "The mean of an inverse",
    lambda: steps(E(1 / a), (1 / E(a), Jensen(a))),
)
