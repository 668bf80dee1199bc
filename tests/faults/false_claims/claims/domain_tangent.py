"""False: the tangent rises from 0 on, for its slope is 1 + tan²."""

from sympy import Interval, S, oo, tan

from tests.faults.false_claims.shared import claim, r, steps
from verify.spec.rules import Hypotheses, Rising

CLAIM = claim(
    "A rising function",
    lambda: steps(S.Zero, (tan(r), Rising(r)), under=Hypotheses().restricted(r, Interval(0, oo))),
)
