"""False: each term of Σ1/n goes to 0, and so does the sum."""

from sympy import Limit, S, Sum, oo

from tests.faults.false_claims.shared import claim, j_, steps
from verify.spec import n
from verify.spec.rules import Identity

CLAIM = claim(
    "Many small terms",
    lambda: steps(Limit(Sum(1 / n, (j_, 1, n)), n, oo), (S.Zero, Identity())),
)
