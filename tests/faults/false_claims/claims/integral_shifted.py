"""False: ∫w^a e^-w dw is Γ(a)."""

from sympy import Integral, exp, gamma, oo

from tests.faults.false_claims.shared import a, claim, steps, w
from verify.spec.rules import EulerIntegrals

CLAIM = claim(
    "A gamma function",
    lambda: steps(Integral(w**a * exp(-w), (w, 0, oo)), (gamma(a), EulerIntegrals(w))),
)
