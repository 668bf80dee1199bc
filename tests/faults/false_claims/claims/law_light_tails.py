"""False: a fourth moment of ½ makes the kurtosis 3 - 11/4d."""

from sympy import Rational, S

from tests.faults.false_claims.shared import claim, steps
from verify.spec import E, Population, d, k, q, score
from verify.spec.rules import Evaluation

CLAIM = claim(
    "An impossible fourth moment",
    lambda: steps(
        E(score**4) / E(score**2) ** 2,
        (
            3 - Rational(11, 4) / d,
            Evaluation(Population({q: (1, 0, 1, 0, S.Half), k: (1, 0, 1, 0, S.Half)}, d), assumed=True),
        ),
    ),
)
