"""True: at the same scale."""

from sympy import S

from tests.faults.false_claims.shared import claim, measured
from verify.spec import STANDARD, Derivation, ScoreMoments, score, variance, variance_route

CLAIM = claim(
    "Half a score",
    lambda: Derivation.of(variance_route(score / 2, STANDARD)),
    measured(variance(), None, ScoreMoments(), scale=S.Half),
)
