"""False: 0 < 1 - r up to 1."""

from sympy import Interval, S

from tests.faults.false_claims.shared import claim, r, steps
from verify.spec.rules import Hypotheses, Sign

CLAIM = claim(
    "A closed end",
    lambda: steps(S.Zero, (1 - r, Sign(strict=True)), under=Hypotheses().restricted(r, Interval(0, 1))),
)
