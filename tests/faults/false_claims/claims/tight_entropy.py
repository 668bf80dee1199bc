"""False: it is at most 0.98 ln n."""

from sympy import Rational, log

from tests.faults.false_claims.shared import claim, steps
from verify.spec import ENTROPY, n
from verify.spec.rules import EvenIsMost

CLAIM = claim(
    "The most entropy",
    lambda: steps(ENTROPY, (Rational(98, 100) * log(n), EvenIsMost())),
)
