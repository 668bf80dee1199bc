"""False: a control that is wrong by less than can be seen."""

from tests.faults.false_claims.shared import claim, measured
from verify.spec import STANDARD, Derivation, ScoreMoments, score, variance, variance_route, wrong

CLAIM = claim(
    "The variance of a score",
    lambda: Derivation.of(variance_route(score, STANDARD)),
    measured(
        variance(),
        None,
        ScoreMoments(),
        controls=lambda check, tolerance: (wrong(check, "near", "it is a little more", 4.02),),
    ),
)
