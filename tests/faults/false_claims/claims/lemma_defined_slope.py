"""False: the derivative of a b by a is that of a³ where b stands for a²."""

from sympy import Derivative

from tests.faults.false_claims.shared import a, b, claim, steps, theorem
from verify.spec.rules import Replaced, Unfolded

CLAIM = claim(
    "A derivative of what is defined",
    lambda: steps(
        Derivative(a * b, a), (Derivative(a**3, a), Replaced(theorem(b, (a**2, Unfolded({b: a**2})))))
    ),
)
