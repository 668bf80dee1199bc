"""True: E r⁴ ≥ (E r)⁴."""

from sympy import S

from tests.faults.false_claims.shared import claim, r, steps, theorem
from verify.spec import E
from verify.spec.rules import Jensen, Sign

CLAIM = claim(
    "A curvature from a lemma",
    lambda: steps(E(r**4), (E(r) ** 4, Jensen(r, "≥", theorem(S.Zero, (12 * r**2, Sign()))))),
)
