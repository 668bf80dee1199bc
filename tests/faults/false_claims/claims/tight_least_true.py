"""True: it is at most 1."""

from sympy import S

from tests.faults.false_claims.shared import a, claim, steps
from verify.spec.rules import AtItsLeast

CLAIM = claim(
    "An inverse",
    lambda: steps(1 / (a + 1), (S.One, AtItsLeast(a, S.Zero))),
)
