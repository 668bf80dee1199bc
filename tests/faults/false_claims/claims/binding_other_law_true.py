"""True: of normal components."""

from tests.faults.false_claims.shared import claim, measured
from verify.spec import NORMAL_MOMENTS, Derivation, Population, ScorePowers, d, k, kurtosis, kurtosis_route, q

CLAIM = claim(
    "The kurtosis of a score",
    lambda: Derivation.of(kurtosis_route(Population({q: NORMAL_MOMENTS, k: NORMAL_MOMENTS}, d))),
    measured(kurtosis(), None, ScorePowers((2, 4)), n=16),
)
