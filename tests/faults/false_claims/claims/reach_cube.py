"""False: a³ is a², as putting in 1 shows."""

from sympy import S

from tests.faults.false_claims.shared import a, claim, steps
from verify.spec.rules import PutIn

CLAIM = claim(
    "A cube and a square",
    lambda: steps(a**3, (a**2, PutIn({a: S.One}))),
)
