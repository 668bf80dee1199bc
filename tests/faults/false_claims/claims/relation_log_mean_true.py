"""True: E ln Z is at most ln E Z."""

from sympy import log

from tests.faults.false_claims.shared import a, claim, steps
from verify.spec import E
from verify.spec.rules import Jensen

CLAIM = claim(
    "The mean of a logarithm",
    lambda: steps(E(log(a)), (log(E(a)), Jensen(a))),
)
