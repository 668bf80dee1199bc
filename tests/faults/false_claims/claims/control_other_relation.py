"""False: a control of a bound."""

from tests.faults.false_claims.shared import claim, measured
from verify.spec import STANDARD, Derivation, ScoreMoments, score, variance, variance_route, wrong

CLAIM = claim(
    "The variance of a score",
    lambda: Derivation.of(variance_route(score, STANDARD)),
    measured(
        variance(),
        None,
        ScoreMoments(),
        controls=lambda check, tolerance: (wrong(check, "half", "it is at most half", 2.0, relation="≤"),),
    ),
)
