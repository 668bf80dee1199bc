"""True: (a b³)^⅓ is b a^⅓ for positive ones."""

from sympy import Rational

from tests.faults.false_claims.shared import a, b, claim, steps
from verify.spec.rules import Identity

CLAIM = claim(
    "The cube root of a cube",
    lambda: steps((a * b**3 + b**3) ** Rational(1, 3), (b * (a + 1) ** Rational(1, 3), Identity())),
)
