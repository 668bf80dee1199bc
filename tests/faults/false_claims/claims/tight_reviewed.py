"""False: Var(q·k) is at most 0.98 d, says a test of the author's."""

from sympy import Rational

from tests.faults.false_claims.shared import claim, steps
from verify.spec import Var, d, score
from verify.spec.rules import by

CLAIM = claim(
    "A bound that its author has read",
    lambda: steps(Var(score), (Rational(98, 100) * d, by("close enough")(lambda one, other: True))),
)
