"""True: it is for normal ones."""

from tests.faults.false_claims.shared import claim, steps
from verify.spec import NORMAL_MOMENTS, E, Population, d, k, q, score
from verify.spec.rules import Evaluation

CLAIM = claim(
    "The kurtosis of a score",
    lambda: steps(
        E(score**4) / E(score**2) ** 2,
        (3 + 6 / d, Evaluation(Population({q: NORMAL_MOMENTS, k: NORMAL_MOMENTS}, d), assumed=True)),
    ),
)
