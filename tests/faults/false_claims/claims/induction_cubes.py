"""False: Σj³ is (Σj)³."""

from sympy import Sum

from tests.faults.false_claims.shared import claim, j_, steps
from verify.spec import n
from verify.spec.rules import ClosedSums

CLAIM = claim(
    "A sum of cubes",
    lambda: steps(Sum(j_**3, (j_, 1, n)), ((n * (n + 1) / 2) ** 3, ClosedSums())),
)
