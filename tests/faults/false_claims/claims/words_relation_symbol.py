"""False: a symbol is a relation of SymPy's."""

from sympy import Eq

from tests.faults.false_claims.shared import claim, measured
from verify.spec import STANDARD, Derivation, ScoreMoments, Var, d, score, variance, variance_route

CLAIM = claim(
    "The variance of a score",
    lambda: Derivation.of(variance_route(score, STANDARD)),
    measured(variance(), None, ScoreMoments()),
    statement="It is {own}.",
    symbols={"own": Eq(Var(score), 3 * d, evaluate=False)},
)
