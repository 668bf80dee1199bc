"""True: ∫a² e^-a from 0 on is 2."""

from sympy import Integral, S, exp, oo

from tests.faults.false_claims.shared import claim, steps, w
from verify.spec.rules import EulerIntegrals

CLAIM = claim(
    "Over values that there are not",
    lambda: steps(Integral(w**2 * exp(-w), (w, 0, oo)), (S(2), EulerIntegrals(w))),
)
