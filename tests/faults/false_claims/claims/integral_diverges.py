"""False: ∫e^w dw is -1."""

from sympy import Integral, S, exp, oo

from tests.faults.false_claims.shared import claim, steps, w
from verify.spec.rules import EulerIntegrals

CLAIM = claim(
    "An integral that does not converge",
    lambda: steps(Integral(exp(w), (w, 0, oo)), (S.NegativeOne, EulerIntegrals(w))),
)
