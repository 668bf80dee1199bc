"""False: both may be the same score, so that E S² is (E S)² = 0."""

from sympy import S

from tests.faults.false_claims.shared import claim, r, steps, y
from verify.spec import STANDARD, E, Population, score
from verify.spec.rules import Evaluation, PutIn

CLAIM = claim(
    "A product of two means",
    lambda: steps(
        E(r * y),
        (E(r) * E(y), Evaluation(Population({r: None, y: None}))),
        (E(score) ** 2, PutIn({r: score, y: score})),
        (S.Zero, Evaluation(STANDARD, assumed=True)),
    ),
)
