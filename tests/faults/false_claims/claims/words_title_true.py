"""True: none."""

from tests.faults.false_claims.shared import claim, measured
from verify.spec import STANDARD, Derivation, ScoreMoments, score, variance, variance_route

CLAIM = claim(
    "Scores spread farther than components",
    lambda: Derivation.of(variance_route(score, STANDARD)),
    measured(variance(), None, ScoreMoments()),
    statement="{theorem}.",
)
