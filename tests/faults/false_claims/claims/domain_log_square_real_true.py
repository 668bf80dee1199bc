"""True: 2 ln a - a is for positive a."""

from sympy import S, log

from tests.faults.false_claims.shared import a, claim, steps
from verify.spec.rules import AtItsMost

CLAIM = claim(
    "The logarithm of a squared number",
    lambda: steps(2 * log(a) - a, (2 * log(S(2)) - 2, AtItsMost(a, S(2)))),
)
