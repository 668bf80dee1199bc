"""False: the label of a check says more than what it estimates."""

from tests.faults.false_claims.shared import claim, measured
from verify.spec import STANDARD, Derivation, ScoreMoments, score, variance, variance_route

CLAIM = claim(
    "The variance of a score",
    lambda: Derivation.of(variance_route(score, STANDARD)),
    measured(variance(), None, ScoreMoments(), label=r"$\operatorname{Var}(q\cdot k) = 3 d_k$"),
)
