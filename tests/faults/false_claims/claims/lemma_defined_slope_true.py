"""True: the derivative of a³ is 3a²."""

from sympy import Derivative

from tests.faults.false_claims.shared import a, claim, steps
from verify.spec.rules import Identity

CLAIM = claim(
    "A derivative of what is defined",
    lambda: steps(Derivative(a**3, a), (3 * a**2, Identity())),
)
