"""False: the variance is d σ²σ² whatever the means are."""

from tests.faults.false_claims.shared import claim, steps
from verify.spec import GENERAL, Var, d, score, sigma_k, sigma_q
from verify.spec.rules import Evaluation

CLAIM = claim(
    "Components with means",
    lambda: steps(Var(score), (d * sigma_q**2 * sigma_k**2, Evaluation(GENERAL, assumed=True))),
)
