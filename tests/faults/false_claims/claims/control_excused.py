"""False: an excuse, and a control."""

from tests.faults.false_claims.shared import claim, measured
from verify.spec import STANDARD, Derivation, ScoreMoments, biased, score, variance, variance_route

CLAIM = claim(
    "The variance of a score",
    lambda: Derivation.of(variance_route(score, STANDARD)),
    measured(
        variance(),
        None,
        ScoreMoments(),
        uncontrolled="none is needed",
        controls=lambda check, tolerance: (biased(check, tolerance),),
    ),
)
