"""False: a formula is typed for the value that is compared with."""

from tests.faults.false_claims.shared import claim, typed
from verify.spec import STANDARD, Derivation, Prediction, score, variance_route

CLAIM = claim(
    "The variance of a score",
    lambda: Derivation.of(variance_route(score, STANDARD)),
    lambda derivation, tolerance: typed(derivation, tolerance, Prediction(4.0, "3 d_k")),
)
