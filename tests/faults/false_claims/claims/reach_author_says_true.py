"""True: it is d."""

from tests.faults.false_claims.shared import claim, steps
from verify.spec import STANDARD, Var, d, score
from verify.spec.rules import Evaluation

CLAIM = claim(
    "A rule of the author's own",
    lambda: steps(Var(score), (d, Evaluation(STANDARD, assumed=True))),
)
