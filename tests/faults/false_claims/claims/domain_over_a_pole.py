"""False: 1 ≤ -1/(r - 1) for r ≥ 0."""

from sympy import Interval, S, oo

from tests.faults.false_claims.shared import claim, r, steps
from verify.spec.rules import Hypotheses, Rising

CLAIM = claim(
    "A function that rises where it is defined",
    lambda: steps(S.One, (-1 / (r - 1), Rising(r)), under=Hypotheses().restricted(r, Interval(0, oo))),
)
