"""True: their variance is 3 d."""

from tests.faults.false_claims.shared import claim, measured
from verify.spec import NORMAL, Derivation, Population, ScoreMoments, d, k, q, score, variance, variance_route

CLAIM = claim(
    "The spread of scores with a mean",
    lambda: Derivation.of(variance_route(score, Population({q: (1, 1, 2), k: (1, 1, 2)}, d))),
    measured(variance(), None, ScoreMoments(), query=NORMAL.moved(1, 1), key=NORMAL.moved(1, 1)),
)
