"""False: E r³ ≥ (E r)³ for all r, by the curvature of r⁴."""

from sympy import S

from tests.faults.false_claims.shared import claim, r, steps, theorem
from verify.spec import E
from verify.spec.rules import Jensen, Sign

CLAIM = claim(
    "A curvature from a lemma",
    lambda: steps(E(r**3), (E(r) ** 3, Jensen(r, "≥", theorem(S.Zero, (12 * r**2, Sign()))))),
)
