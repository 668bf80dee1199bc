"""False: a control of another statistic."""

from tests.faults.false_claims.shared import claim, measured
from verify.spec import (
    NORMAL,
    STANDARD,
    Derivation,
    PairMoments,
    ScoreMoments,
    Simulated,
    cell_of,
    score,
    variance,
    variance_route,
    wrong,
)  # fmt: skip

CLAIM = claim(
    "The variance of a score",
    lambda: Derivation.of(variance_route(score, STANDARD)),
    measured(
        variance(),
        None,
        ScoreMoments(),
        controls=lambda check, tolerance: (
            wrong(
                check,
                "double",
                "it is double",
                8.0,
                cell=cell_of("pairs", Simulated(NORMAL, NORMAL, 8, 8, 4), PairMoments()),
            ),
        ),
    ),
)
