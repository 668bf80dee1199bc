"""True: of 64."""

from sympy import Range, oo

from tests.faults.false_claims.shared import claim, measured, steps
from verify.spec import STANDARD, ScoreMoments, Var, d, score, variance
from verify.spec.rules import Evaluation, Hypotheses

CLAIM = claim(
    "The variance of a score in many dimensions",
    lambda: steps(
        Var(score), (d, Evaluation(STANDARD, assumed=True)), under=Hypotheses().restricted(d, Range(64, oo))
    ),
    measured(variance(), None, ScoreMoments(), n=64),
)
