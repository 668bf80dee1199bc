"""False: a relation in a figure's text for reading aloud."""

from tests.faults.false_claims.shared import claim, measured
from verify.spec import STANDARD, Derivation, ScoreMoments, figure, line, score, variance, variance_route
from verify.spec import measured as points

CLAIM = claim(
    "The variance of a score",
    lambda: Derivation.of(variance_route(score, STANDARD)),
    measured(variance(), None, ScoreMoments()),
    figures=lambda derivation, findings: figure(
        "line",
        "A line",
        "The variance is = 3 d on all points.",
        "variance",
        line("derived", derivation.result),
        points(findings.matching("found")),
    ),
)
