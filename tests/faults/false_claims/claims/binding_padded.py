"""False: the variance of a padded score is exactly 1 - 1/d; these are first terms of d/(d + 1)."""

from sympy import sqrt

from tests.faults.false_claims.shared import claim, measured, steps
from verify.spec import STANDARD, ScoreMoments, Var, d, score, variance
from verify.spec.rules import Evaluation, FirstTerms

CLAIM = claim(
    "A padded score",
    lambda: steps(
        Var(score / sqrt(d + 1)),
        (d / (d + 1), Evaluation(STANDARD, assumed=True)),
        (1 - 1 / d, FirstTerms(d, 1)),
    ),
    measured(variance(), None, ScoreMoments(), scale=1 / sqrt(d + 1), n=64),
)
