"""True: it is for positive s."""

from sympy import S, log

from tests.faults.false_claims.shared import a, claim, steps
from verify.spec.rules import AtItsMost

CLAIM = claim(
    "The logarithm of a squared score",
    lambda: steps(log(a**2) - a, (log(S(4)) - 2, AtItsMost(a, S(2)))),
)
