"""True: a slot."""

from tests.faults.false_claims.shared import claim, measured
from verify.spec import STANDARD, Derivation, ScoreMoments, d, score, variance, variance_route, wrong

CLAIM = claim(
    "The variance of a score",
    lambda: Derivation.of(variance_route(score, STANDARD)),
    measured(
        variance(),
        None,
        ScoreMoments(),
        controls=lambda check, tolerance: (
            wrong(check, "thrice", "the variance is {value}", 3 * d.subs(d, 4)),
        ),
    ),
)
