"""False: it is 0 for every law with mean 0."""

from sympy import S

from tests.faults.false_claims.shared import claim, steps
from verify.spec import STANDARD, E, score
from verify.spec.rules import Evaluation

CLAIM = claim(
    "The third moment of a score",
    lambda: steps(E(score**3), (S.Zero, Evaluation(STANDARD, assumed=True))),
)
