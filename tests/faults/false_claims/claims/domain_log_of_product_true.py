"""True: it is for positive ones."""

from sympy import log

from tests.faults.false_claims.shared import a, b, claim, steps
from verify.spec.rules import Identity

CLAIM = claim(
    "The logarithm of a product",
    lambda: steps(log(a * b), (log(a) + log(b), Identity())),
)
