"""False: the variance at temperature T is d/T^2.02, as putting in 1 shows."""

from sympy import Rational, S

from tests.faults.false_claims.shared import claim, steps, t
from verify.spec import STANDARD, Var, d, score
from verify.spec.rules import Evaluation, PutIn

CLAIM = claim(
    "A temperature",
    lambda: steps(
        Var(score / t),
        (d / t**2, Evaluation(STANDARD, assumed=True)),
        (d / t ** Rational(101, 50), PutIn({t: S.One})),
    ),
)
