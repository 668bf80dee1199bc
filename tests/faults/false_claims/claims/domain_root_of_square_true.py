"""True: the root of (r + 1)² is |r + 1|, squared (r + 1)²."""

from sympy import sqrt

from tests.faults.false_claims.shared import claim, r, route, steps
from verify.spec import Identity

CLAIM = claim(
    "The root of a square",
    lambda: steps(sqrt(r**2 + 2 * r + 1) ** 2, ((r + 1) ** 2, Identity()), (r**2 + 2 * r + 1, Identity())).of(
        route((r + 1) ** 2, (r**2 + 2 * r + 1, Identity()))
    ),
)
