"""False: a control of the mean square only."""

from tests.faults.false_claims.shared import claim, measured
from verify.spec import STANDARD, Derivation, ScoreMoments, component, score, variance, variance_route, wrong

CLAIM = claim(
    "The variance of a score",
    lambda: Derivation.of(variance_route(score, STANDARD)),
    measured(
        variance(),
        None,
        ScoreMoments(),
        controls=lambda check, tolerance: (
            wrong(check, "double", "it is double", 8.0, estimand=component("square")),
        ),
    ),
)
