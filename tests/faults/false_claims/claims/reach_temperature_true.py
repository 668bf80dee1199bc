"""True: it is d/T²."""

from tests.faults.false_claims.shared import claim, steps, t
from verify.spec import STANDARD, Evaluation, Var, d, score

CLAIM = claim(
    "A temperature",
    lambda: steps(Var(score / t), (d / t**2, Evaluation(STANDARD, assumed=True))),
)
