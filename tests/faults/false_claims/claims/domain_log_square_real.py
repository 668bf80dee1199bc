"""False: ln r² - r is at most ln 4 - 2 wherever it is defined."""

from sympy import S, log

from tests.faults.false_claims.shared import claim, r, steps
from verify.spec.rules import AtItsMost

CLAIM = claim(
    "The logarithm of a squared number",
    lambda: steps(log(r**2) - r, (log(S(4)) - 2, AtItsMost(r, S(2)))),
)
