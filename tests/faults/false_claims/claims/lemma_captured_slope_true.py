"""True: it holds for c."""

from sympy import Derivative

from tests.faults.false_claims.shared import a, b, c, claim, steps
from verify.spec.rules import Identity, PutIn

CLAIM = claim(
    "A derivative by what is put in",
    lambda: steps(Derivative(a * b, a), (b, Identity()), (c, PutIn({b: c}))),
)
