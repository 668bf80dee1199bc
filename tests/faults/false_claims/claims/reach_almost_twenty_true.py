"""True: it is what it is."""

from sympy import exp, pi

from tests.faults.false_claims.shared import claim, r, steps
from verify.spec import Identity

CLAIM = claim(
    "A number that is almost whole",
    lambda: steps(exp(pi) - pi + r, (r - pi + exp(2 * pi) / exp(pi), Identity())),
)
