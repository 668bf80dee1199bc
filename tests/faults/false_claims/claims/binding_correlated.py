"""False: the theorem for independent components speaks of correlated ones."""

from tests.faults.false_claims.shared import claim, measured_correlated
from verify.spec import STANDARD, Derivation, score, variance_route

CLAIM = claim(
    "Correlated components",
    lambda: Derivation.of(variance_route(score, STANDARD)),
    measured_correlated,
)
