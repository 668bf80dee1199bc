"""False: a quarter of the mean square is measured, and the variance derived."""

from sympy import S

from tests.faults.false_claims.shared import claim, measured
from verify.spec import STANDARD, Derivation, ScoreMoments, component, score, variance_route

CLAIM = claim(
    "What scores are like",
    lambda: Derivation.of(variance_route(score, STANDARD)),
    measured(component("square", 0.25, positive=True), S.One, ScoreMoments()),
)
