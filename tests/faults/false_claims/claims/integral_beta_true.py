"""True: it is B(a, b)."""

from sympy import Integral, gamma, oo

from tests.faults.false_claims.shared import a, b, claim, steps, w
from verify.spec.rules import EulerIntegrals

CLAIM = claim(
    "A beta function",
    lambda: steps(
        Integral(w ** (a - 1) / (1 + w) ** (a + b), (w, 0, oo)),
        (gamma(a) * gamma(b) / gamma(a + b), EulerIntegrals(w)),
    ),
)
