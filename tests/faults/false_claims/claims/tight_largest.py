"""False: E max s is at most 0.98 σ√(2 ln n)."""

from sympy import Rational, log, sqrt

from tests.faults.false_claims.shared import claim, steps
from verify.spec import E, n, sigma
from verify.spec.rules import LargestScore, largest

CLAIM = claim(
    "The largest score",
    lambda: steps(E(largest), (Rational(98, 100) * sigma * sqrt(2 * log(n)), LargestScore())),
)
