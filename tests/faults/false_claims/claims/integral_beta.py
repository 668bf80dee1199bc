"""False: ∫w^(a-1)/(1 + w)^(a+b) dw is B(a, b + 1)."""

from sympy import Integral, gamma, oo

from tests.faults.false_claims.shared import a, b, claim, steps, w
from verify.spec.rules import EulerIntegrals

CLAIM = claim(
    "A beta function",
    lambda: steps(
        Integral(w ** (a - 1) / (1 + w) ** (a + b), (w, 0, oo)),
        (gamma(a) * gamma(b + 1) / gamma(a + b + 1), EulerIntegrals(w)),
    ),
)
