"""False: a scale without a name."""

from tests.faults.false_claims.shared import claim, measured
from verify.spec import STANDARD, Derivation, ScoreMoments, Tolerance, d, score, variance, variance_route

CLAIM = claim(
    "The variance of a score",
    lambda: Derivation.of(variance_route(score, STANDARD)),
    measured(variance(), 13 * d / 10, ScoreMoments(), tolerance=Tolerance(1.0, 40.0)),
)
