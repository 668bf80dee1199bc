"""True: at most σ√(2 ln n)."""

from sympy import log, sqrt

from tests.faults.false_claims.shared import claim, steps
from verify.spec import E, n, sigma
from verify.spec.rules import LargestScore, largest

CLAIM = claim(
    "The largest score",
    lambda: steps(E(largest), (sigma * sqrt(2 * log(n)), LargestScore())),
)
