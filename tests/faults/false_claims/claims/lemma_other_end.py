"""False: the variance is d, and by another route 2 d."""

from tests.faults.false_claims.shared import claim, route
from verify.spec import STANDARD, Derivation, Var, d, score
from verify.spec.rules import Evaluation

CLAIM = claim(
    "Two routes to two results",
    lambda: Derivation.of(
        route(Var(score), (d, Evaluation(STANDARD, assumed=True))),
        route(Var(score) + Var(score), (2 * d, Evaluation(STANDARD, assumed=True))),
    ),
)
