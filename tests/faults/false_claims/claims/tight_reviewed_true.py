"""True: it is at most d + a."""

from sympy import S

from tests.faults.false_claims.shared import a, claim, steps, theorem
from verify.spec import STANDARD, Var, d, score
from verify.spec.rules import Evaluation, Replaced, Sign, Turned

CLAIM = claim(
    "A bound that its author has read",
    lambda: steps(
        Var(score),
        (d, Evaluation(STANDARD, assumed=True)),
        (d + a, Replaced(theorem(S.Zero, (a, Sign()), (d + a, Turned(start=d))))),
    ),
)
