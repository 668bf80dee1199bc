"""False: b stands for a², and 5 is put in for b."""

from sympy import S

from tests.faults.false_claims.shared import a, b, claim, steps
from verify.spec.rules import PutIn, Unfolded

CLAIM = claim(
    "What is defined is a number",
    lambda: steps(b, (a**2, Unfolded({b: a**2})), (a**2, PutIn({b: S(5)}))),
)
