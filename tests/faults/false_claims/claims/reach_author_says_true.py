"""True: it is d."""

from tests.faults.false_claims.shared import claim, steps
from verify.spec import STANDARD, Evaluation, Var, d, score

CLAIM = claim(
    "A rule of the author's own",
    lambda: steps(Var(score), (d, Evaluation(STANDARD, assumed=True))),
)
