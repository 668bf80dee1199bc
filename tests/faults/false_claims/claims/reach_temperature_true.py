"""True: it is d/T²."""

from tests.faults.false_claims.shared import claim, steps, t
from verify.spec import STANDARD, Var, d, score
from verify.spec.rules import Evaluation

CLAIM = claim(
    "A temperature",
    lambda: steps(Var(score / t), (d / t**2, Evaluation(STANDARD, assumed=True))),
)
