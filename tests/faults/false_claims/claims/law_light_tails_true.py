"""True: one of 1 makes it 3 - 2/d."""

from tests.faults.false_claims.shared import claim, steps
from verify.spec import E, Population, d, k, q, score
from verify.spec.rules import Evaluation

CLAIM = claim(
    "An impossible fourth moment",
    lambda: steps(
        E(score**4) / E(score**2) ** 2,
        (3 - 2 / d, Evaluation(Population({q: (1, 0, 1, 0, 1), k: (1, 0, 1, 0, 1)}, d), assumed=True)),
    ),
)
