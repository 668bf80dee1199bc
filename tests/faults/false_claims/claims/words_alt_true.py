"""True: none."""

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
        "The variance lies on the line.",
        "variance",
        line("derived", derivation.result),
        points(findings.matching("found")),
    ),
)
