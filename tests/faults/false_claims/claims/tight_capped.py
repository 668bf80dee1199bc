"""False: r² - tanh² r is at most 0.65 r⁴."""

from sympy import Rational, tanh

from tests.faults.false_claims.shared import claim, r, steps
from verify.spec.rules import FromZero

CLAIM = claim(
    "What a cap leaves",
    lambda: steps(r**2 - tanh(r) ** 2, (Rational(65, 100) * r**4, FromZero(r))),
)
