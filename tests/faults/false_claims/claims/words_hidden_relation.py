"""False: a symbol hides a relation."""

from tests.faults.false_claims.shared import claim, measured
from verify.spec import STANDARD, Derivation, Notation, ScoreMoments, score, variance, variance_route

CLAIM = claim(
    "The variance of a score",
    lambda: Derivation.of(variance_route(score, STANDARD)),
    measured(variance(), None, ScoreMoments()),
    statement="{same}.",
    symbols={"same": Notation(r"\operatorname{Var} = 3 d_k", score)},
)
