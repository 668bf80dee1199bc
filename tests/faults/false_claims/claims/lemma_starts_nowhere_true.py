"""True: the lemma says what it is about."""

from tests.faults.false_claims.shared import claim, route
from verify.spec import STANDARD, Derivation, Var, d, score
from verify.spec.rules import Evaluation

CLAIM = claim(
    "A lemma that starts at nothing",
    lambda: Derivation.of(
        route(Var(score), (d, Evaluation(STANDARD, assumed=True))),
        lemmas=(
            route(Var(2 * score), (4 * d, Evaluation(STANDARD, assumed=True))).defining(
                "the variance of twice a score"
            ),
        ),
    ),
)
