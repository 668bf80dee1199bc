"""True: it is at most ln n."""

from sympy import log

from tests.faults.false_claims.shared import claim, steps
from verify.spec import ENTROPY, n
from verify.spec.rules import EvenIsMost

CLAIM = claim(
    "The most entropy",
    lambda: steps(ENTROPY, (log(n), EvenIsMost())),
)
