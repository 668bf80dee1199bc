"""True: (r + 1)² over (r + 1)² is 1."""

from sympy import S

from tests.faults.false_claims.shared import b, c, claim, r, steps, y
from verify.spec.rules import Unfolded

CLAIM = claim(
    "A ratio of hidden zeros",
    lambda: steps(
        ((r + 1) ** 2 - r**2 - 2 * r) / ((r + y) ** 2 - r**2 - 2 * r * y - y**2 + 1),
        (S.One, Unfolded({b: c})),
    ),
)
