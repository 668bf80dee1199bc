"""True: both routes end in d."""

from tests.faults.false_claims.shared import claim, route
from verify.spec import STANDARD, Derivation, E, Var, d, score
from verify.spec.rules import Evaluation

CLAIM = claim(
    "Two routes to two results",
    lambda: Derivation.of(
        route(Var(score), (d, Evaluation(STANDARD, assumed=True))),
        route(
            Var(score),
            (E(score**2) - E(score) ** 2, Evaluation(STANDARD)),
            (d, Evaluation(STANDARD, assumed=True)),
        ),
    ),
)
