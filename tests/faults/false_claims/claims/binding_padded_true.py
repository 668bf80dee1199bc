"""True: it is d/(d + e)."""

from sympy import sqrt

from tests.faults.false_claims.shared import claim, measured, steps
from verify.spec import STANDARD, ScoreMoments, Var, d, score, variance
from verify.spec.rules import Evaluation

CLAIM = claim(
    "A padded score",
    lambda: steps(Var(score / sqrt(d + 1)), (d / (d + 1), Evaluation(STANDARD, assumed=True))),
    measured(variance(), None, ScoreMoments(), scale=1 / sqrt(d + 1), n=64),
)
