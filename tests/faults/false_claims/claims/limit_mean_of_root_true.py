"""True: it is at most that."""

from sympy import sqrt

from tests.faults.false_claims.shared import a, claim, steps
from verify.spec import E
from verify.spec.rules import Jensen

CLAIM = claim(
    "The mean of a root",
    lambda: steps(E(sqrt(a)), (sqrt(E(a)), Jensen(a))),
)
