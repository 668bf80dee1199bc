"""True: it is less than e^π + r."""

from sympy import S, exp, pi

from tests.faults.false_claims.shared import a, claim, steps, theorem
from verify.spec.rules import Replaced, Sign, Turned

CLAIM = claim(
    "A number that is almost whole",
    lambda: steps(exp(pi) - a, (exp(pi), Replaced(theorem(S.Zero, (a, Sign()), (S.Zero, Turned(start=-a)))))),
)
