"""True: the value is derived."""

from tests.faults.false_claims.shared import claim, measured, steps
from verify.spec import STANDARD, E, ScoreMoments, component, d, score
from verify.spec.rules import Evaluation

CLAIM = claim(
    "The mean square",
    lambda: steps(E(score**2), (d, Evaluation(STANDARD, assumed=True))),
    measured(component("square", positive=True), None, ScoreMoments()),
)
