"""True: Σp/Σp is 1."""

from sympy import S, Sum

from tests.faults.false_claims.shared import claim, steps
from verify.spec import i, j, n, p
from verify.spec.rules import SumIdentity

CLAIM = claim(
    "A ratio of two zeros",
    lambda: steps((Sum(p[i], (i, 1, n)) + 1) / (Sum(p[j], (j, 1, n)) + 1), (S.One, SumIdentity())),
)
