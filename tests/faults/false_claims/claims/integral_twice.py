"""False: ∫e^(-a w²) dw from 0 on is √(π/a)."""

from sympy import Integral, exp, oo, pi, sqrt

from tests.faults.false_claims.shared import a, claim, steps, w
from verify.spec.rules import EulerIntegrals

CLAIM = claim(
    "Half of a normal integral",
    lambda: steps(Integral(exp(-a * w**2), (w, 0, oo)), (sqrt(pi / a), EulerIntegrals(w))),
)
