"""False: ln(r y) is ln r + ln y for all numbers."""

from sympy import log

from tests.faults.false_claims.shared import claim, r, steps, y
from verify.spec.rules import Identity

CLAIM = claim(
    "The logarithm of a product",
    lambda: steps(log(r * y), (log(r) + log(y), Identity())),
)
