"""True: E S² is d."""

from tests.faults.false_claims.shared import claim, steps
from verify.spec import STANDARD, E, d, score
from verify.spec.rules import Evaluation

CLAIM = claim(
    "A product of two means",
    lambda: steps(E(score**2), (d, Evaluation(STANDARD, assumed=True))),
)
