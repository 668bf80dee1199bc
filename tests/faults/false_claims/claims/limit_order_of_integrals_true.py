"""True: an integral and the same in other terms."""

from sympy import Integral, S, exp, oo

from tests.faults.false_claims.shared import claim, steps, w
from verify.spec.rules import EulerIntegrals

CLAIM = claim(
    "The order of two integrals",
    lambda: steps(Integral(exp(-2 * w), (w, 0, oo)), (S.Half, EulerIntegrals(w))),
)
