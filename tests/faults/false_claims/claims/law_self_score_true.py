"""True: it is 2 d for normal components."""

from tests.faults.false_claims.shared import claim, steps
from verify.spec import NORMAL_MOMENTS, Population, Var, d, k, q, score
from verify.spec.rules import Evaluation

CLAIM = claim(
    "A key with itself",
    lambda: steps(
        Var(score.subs(k, q)),
        (2 * d, Evaluation(Population({q: NORMAL_MOMENTS, k: NORMAL_MOMENTS}, d), assumed=True)),
    ),
)
