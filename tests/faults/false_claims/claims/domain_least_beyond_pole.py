"""False: 1/(a - 1) is at most -1, where a is put at 0."""

from sympy import S

from tests.faults.false_claims.shared import a, claim, steps
from verify.spec.rules import AtItsLeast

CLAIM = claim(
    "An inverse at its least",
    lambda: steps(1 / (a - 1), (S.NegativeOne, AtItsLeast(a, S.Zero))),
)
