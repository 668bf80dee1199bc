"""True: it is at most 1."""

from sympy import KroneckerDelta, Sum

from tests.faults.false_claims.shared import claim, steps
from verify.spec import i, j, n, p
from verify.spec.rules import Surplus

CLAIM = claim(
    "The sum of squared weights",
    lambda: steps(
        Sum(p[i] ** 2, (i, 1, n)),
        (
            Sum(p[i], (i, 1, n)) ** 2,
            Surplus(Sum(p[i] * p[j] * (1 - KroneckerDelta(i, j)), (i, 1, n), (j, 1, n))),
        ),
    ),
)
