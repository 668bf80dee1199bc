"""False: what holds for b holds for a: the derivative of a² is a."""

from sympy import Derivative

from tests.faults.false_claims.shared import a, b, claim, steps
from verify.spec.rules import Identity, PutIn

CLAIM = claim(
    "A derivative by what is put in",
    lambda: steps(Derivative(a * b, a), (b, Identity()), (a, PutIn({b: a}))),
)
