"""True: of 64."""

from sympy import Range, oo

from tests.faults.false_claims.shared import claim, measured, steps
from verify.spec import STANDARD, Evaluation, Hypotheses, ScoreMoments, Var, d, score, variance

CLAIM = claim(
    "The variance of a score in many dimensions",
    lambda: steps(
        Var(score), (d, Evaluation(STANDARD, assumed=True)), under=Hypotheses().restricted(d, Range(64, oo))
    ),
    measured(variance(), None, ScoreMoments(), n=64),
)
