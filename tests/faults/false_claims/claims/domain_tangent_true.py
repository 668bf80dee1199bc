"""True: the hyperbolic tangent does."""

from sympy import Interval, S, oo, tanh

from tests.faults.false_claims.shared import claim, r, steps
from verify.spec.rules import Hypotheses, Rising

CLAIM = claim(
    "A rising function",
    lambda: steps(S.Zero, (tanh(r), Rising(r)), under=Hypotheses().restricted(r, Interval(0, oo))),
)
