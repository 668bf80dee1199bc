"""False: what is 0 over what is 0 is 7."""

from sympy import S

from tests.faults.false_claims.shared import b, c, claim, r, steps, y
from verify.spec.rules import Unfolded

CLAIM = claim(
    "A ratio of hidden zeros",
    lambda: steps(
        ((r + 1) ** 2 - r**2 - 2 * r - 1) / ((r + y) ** 2 - r**2 - 2 * r * y - y**2), (S(7), Unfolded({b: c}))
    ),
)
