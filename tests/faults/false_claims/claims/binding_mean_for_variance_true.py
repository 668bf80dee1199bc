"""True: their variance is measured."""

from tests.faults.false_claims.shared import claim, measured
from verify.spec import STANDARD, Derivation, ScoreMoments, score, variance, variance_route

CLAIM = claim(
    "What scores are like",
    lambda: Derivation.of(variance_route(score, STANDARD)),
    measured(variance(), None, ScoreMoments()),
)
