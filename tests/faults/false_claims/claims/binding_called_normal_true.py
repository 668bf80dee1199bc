"""True: a normal one."""

from tests.faults.false_claims.shared import claim, measured, steps
from verify.spec import Population, ScoreMoments, Var, d, k, q, score, variance
from verify.spec.rules import Evaluation

CLAIM = claim(
    "The variance of a score",
    lambda: steps(
        Var(score), (d, Evaluation(Population({q: (1, 0, 1), k: (1, 0, 1)}, d, normal=(q, k)), assumed=True))
    ),
    measured(variance(), None, ScoreMoments()),
)
