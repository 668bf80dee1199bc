"""False: Σp² is at most 0.98."""

from sympy import Rational, Sum

from tests.faults.false_claims.shared import claim, steps
from verify.spec import i, n, p
from verify.spec.rules import Surplus

CLAIM = claim(
    "The sum of squared weights",
    lambda: steps(Sum(p[i] ** 2, (i, 1, n)), (Rational(98, 100), Surplus(Sum(p[i] * (1 - p[i]), (i, 1, n))))),
)
