"""True: it is where the components' third moments are."""

from sympy import S

from tests.faults.false_claims.shared import claim, steps
from verify.spec import E, Population, d, k, q, score
from verify.spec.rules import Evaluation

CLAIM = claim(
    "The third moment of a score",
    lambda: steps(
        E(score**3), (S.Zero, Evaluation(Population({q: (1, 0, 1, 0), k: (1, 0, 1, 0)}, d), assumed=True))
    ),
)
