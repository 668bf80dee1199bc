"""True: of variance 1."""

from tests.faults.false_claims.shared import claim, steps
from verify.spec import Population, Var, d, k, q, score
from verify.spec.rules import Evaluation

CLAIM = claim(
    "An impossible variance",
    lambda: steps(Var(score), (d, Evaluation(Population({q: (1, 0, 1), k: (1, 0, 1)}, d), assumed=True))),
)
