"""False: e^π - π is 20, as its first digits show."""

from sympy import exp, pi

from tests.faults.false_claims.shared import claim, r, steps
from verify.spec.rules import by

CLAIM = claim(
    "A number that is almost whole",
    lambda: steps(
        exp(pi) - pi + r,
        (
            20 + r,
            by("to three digits", numerically=True)(
                lambda one, other: abs(float((one - other).evalf())) < 1e-3
            ),
        ),
    ),
)
