"""True: it is at most two thirds of r⁴."""

from sympy import tanh

from tests.faults.false_claims.shared import claim, r, steps
from verify.spec.rules import FromZero

CLAIM = claim(
    "What a cap leaves",
    lambda: steps(r**2 - tanh(r) ** 2, (2 * r**4 / 3, FromZero(r))),
)
