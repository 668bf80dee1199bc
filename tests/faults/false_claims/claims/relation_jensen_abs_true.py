"""True: E e^s is at least e^(E s)."""

from sympy import exp

from tests.faults.false_claims.shared import claim, r, steps
from verify.spec import E
from verify.spec.rules import Jensen

CLAIM = claim(
    "The mean of an exponential",
    lambda: steps(E(exp(r)), (exp(E(r)), Jensen(r, "≥"))),
)
