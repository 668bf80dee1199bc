"""False: 1/(a + 1) is at most 0.97."""

from sympy import Rational, S

from tests.faults.false_claims.shared import a, claim, steps
from verify.spec.rules import AtItsLeast

CLAIM = claim(
    "An inverse",
    lambda: steps(1 / (a + 1), (Rational(97, 100), AtItsLeast(a, S.Zero))),
)
